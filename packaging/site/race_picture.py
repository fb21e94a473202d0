#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/images/race.svg: the host calls and kernels of a run of race_demo, and the wait that it lacks.
Usage: race_picture.py TRACE [OUTPUT]   TRACE comes from: tracesmith profile --record -o TRACE -- race_demo"""
import json
import subprocess
import sys
from html import escape
from pathlib import Path

OUTPUT = Path(__file__).parents[2] / "docs" / "images" / "race.svg"
LEFT, RIGHT, HEIGHT = 130, 900, 30
ROWS = {"host": 74, 0: 144, 1: 204}  # the top of each row
STYLE = """
    .call { fill: #cfd8dc; stroke: #546e7a } .kernel { fill: #81d4fa; stroke: #0277bd }
    .launch { stroke: #78909c; stroke-width: 1.2; fill: none }
    .race { stroke: #d32f2f; stroke-width: 2.5; stroke-dasharray: 6 4; fill: none; marker-end: url(#tip) }
    .lane { stroke: #78909c; stroke-opacity: 0.35 }
    text { font-size: 13px; fill: #78909c } .inside { fill: #1c262b } .wrong { fill: #d32f2f; font-weight: bold }"""


def ask(*words):
    done = subprocess.run(["tracesmith", *words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 4):  # races: 4 when there are some
        sys.exit(f"tracesmith {words[0]}: {done.stderr}")
    return json.loads(done.stdout)


def box(x, y, wide, kind, text):
    """A box with its name: inside where it fits, else behind it."""
    fits = wide > 8 * len(text)
    style = ' class="inside"' if fits else ""
    label = f'<text x="{x + (6 if fits else wide + 5):.1f}" y="{y + 20}"{style}>{escape(text)}</text>'
    return f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{HEIGHT}" rx="3"/>{label if text else ""}'


def draw(trace):
    kernels = ask("query", "--json", trace, "SELECT k.name, k.start_ns, k.duration_ns, k.correlation_id, h.start_ns AS "
                  "launched_ns FROM kernel k JOIN host_call h USING (process_id, correlation_id) ORDER BY h.start_ns")
    calls = ask("query", "--json", trace, "SELECT name, start_ns, duration_ns FROM host_call ORDER BY start_ns")
    race = ask("races", "--json", trace)["processes"][0]["groups"][0]
    queue = {side["name"]: side["queue"] for side in (race["first"], race["second"])}
    kernels = {kernel["name"]: kernel for kernel in kernels if kernel["name"] in queue}
    begin = min(kernel["launched_ns"] for kernel in kernels.values())
    end = max(kernel["start_ns"] + kernel["duration_ns"] for kernel in kernels.values())
    begin, end = begin - (end - begin) // 50, end + (end - begin) // 5

    def at(time):
        return LEFT + (RIGHT - LEFT) * (min(max(time, begin), end) - begin) / (end - begin)

    parts = []
    for row, y in ROWS.items():
        name = "host thread" if row == "host" else f"queue {row}"
        parts.append(f'<text x="12" y="{y + 20}">{name}</text>'
                     f'<path class="lane" d="M{LEFT} {y + HEIGHT + 4}H{RIGHT}"/>')
    for call in calls:
        first, last = at(call["start_ns"]), at(call["start_ns"] + call["duration_ns"])
        if last > LEFT and first < RIGHT:
            text = next((name for name in (call["name"], "launch") if last - first > 8 * len(name)), "")
            parts.append(box(first, ROWS["host"], max(2.0, last - first), "call", text))
    launches = {name: f"M{at(kernel['launched_ns']):.1f} {ROWS['host'] + HEIGHT}L{at(kernel['start_ns']):.1f} "
                      f"{ROWS[queue[name]]}" for name, kernel in kernels.items()}
    parts += [f'<path class="launch" d="{way}"/>' for way in launches.values()]
    for name, kernel in kernels.items():
        x, y = at(kernel["start_ns"]), ROWS[queue[name]]
        parts.append(box(x, y, max(4.0, at(kernel["start_ns"] + kernel["duration_ns"]) - x), "kernel", name))
    source, target = (kernels[race[side]["name"]] for side in ("first", "second"))
    x, y = at(source["start_ns"] + source["duration_ns"]), ROWS[race["first"]["queue"]] + HEIGHT
    to_x, to_y = at(target["start_ns"]), ROWS[race["second"]["queue"]]
    parts.append(f'<path class="race" d="M{x:.1f} {y}C{x:.1f} {y + 30} {to_x:.1f} {to_y - 30} {to_x + 4:.1f} {to_y - 2}"/>')
    said = f"{race['second']['name']} reads what {race['first']['name']} writes, and nothing makes it wait"
    parts.append(f'<text class="wrong" x="{LEFT}" y="{ROWS[1] + HEIGHT + 26}">{said}</text>')
    parts.append(f'<text x="{RIGHT}" y="{ROWS[1] + HEIGHT + 26}" text-anchor="end">{(end - begin) / 1e6:.2f} ms</text>')
    body = "\n  ".join(parts)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 912 272" font-family="Helvetica, Arial, 'DejaVu Sans', sans-serif" role="img">
  <title>A race between two kernels, as TraceSmith found it</title>
  <!-- Made by packaging/site/race_picture.py. Greys that show on white and on black. -->
  <style>{STYLE}
  </style>
  <defs><marker id="tip" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="4" markerHeight="4" orient="auto"><path d="M0 0l10 5-10 5z" fill="#d32f2f"/></marker></defs>
  <text x="12" y="30" font-size="15">One run of race_demo, recorded by tracesmith profile --record. The program printed the usual result.</text>
  {body}
</svg>
"""


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    Path(sys.argv[2] if len(sys.argv) > 2 else OUTPUT).write_text(draw(sys.argv[1]), encoding="utf-8")
