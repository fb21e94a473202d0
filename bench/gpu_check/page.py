# SPDX-License-Identifier: Apache-2.0
"""The page that a person reads, made from the JSON alone. Usage: page.py FILE.json"""
import json
import os
import sys

MARK = {"pass": "pass", "fail": "**FAIL**", "absent": "absent"}


def shown(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return ", ".join(shown(v) for v in value)
    if isinstance(value, dict):
        return ", ".join(f"{k}: {shown(v)}" for k, v in value.items())
    return str(value)


def cell(text):
    return shown(text).replace("|", "\\|").replace("\n", " ")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell(value) for value in row) + " |" for row in rows]
    return lines + [""]


def ratio_table(ratios):
    rows = []
    for way, beside in ratios.items():
        row = [way]
        for what in ("beside nothing", "beside the comparison consumer"):
            r = beside.get(what)
            row.append(f"{r['median']:.4f} ({r['least']:.4f} to {r['most']:.4f})" if r else "")
        rows.append(row)
    return table(["way", "time beside the program alone", "beside the comparison consumer"], rows)


def named_table(name, value):
    """A table of the step's own: rows with columns, or names with values."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return table(list(value[0]), [list(row.values()) for row in value])
    if isinstance(value, dict):
        if value and all(isinstance(v, dict) for v in value.values()):
            columns = list(dict.fromkeys(key for v in value.values() for key in v))
            return table([name, *columns],
                         [[key, *(v.get(c, "") for c in columns)] for key, v in value.items()])
        return table([name, ""], list(value.items()))
    return [f"{name}: {cell(value)}", ""]


def section(step):
    seconds = f"{step['seconds']} s" if step["seconds"] is not None else "not ended"
    lines = [f"## {step['title']}", "", f"{step['name']}: {step['status']}, {seconds}"
             + (f": {cell(step['reason'])}" if step.get("reason") else ""), ""]
    if step["checks"]:
        lines += table(["check", "value", "goal", ""], [
            [c["what"], c.get("value", c.get("reason", "")), c.get("goal", ""), MARK[c["verdict"]]]
            for c in step["checks"]])
    for name, value in step["values"].items():
        if name == "times_ns":
            lines += table(["times (ms), by turns", *(f"{i + 1}" for i in range(max(
                (len(v) for v in value.values()), default=0)))],
                           [[way, *(f"{ns / 1e6:.2f}" for ns in all_ns)] for way, all_ns in value.items()])
        elif name == "ratios":
            lines += ratio_table(value)
        else:
            lines += named_table(name, value)
    return lines


def goals(data):
    """What is to be reached, and not only to be equal, in one table; and how much of the rest is."""
    rows, equal, others = [], 0, 0
    for step in data["steps"]:
        for c in step["checks"]:
            if c["verdict"] == "absent" or any(sign in c["goal"] for sign in ("<=", ">=")):
                rows.append([step["name"], c["what"], c.get("value", c.get("reason", "")),
                             c.get("goal", ""), MARK[c["verdict"]]])
            else:
                equal += c["verdict"] == "pass"
                others += 1
    return ["## Goals", "", *table(["step", "check", "value", "goal", ""], rows),
            f"All else that was compared: {equal} of {others} are as they must be.", ""]


def text(data):
    m = data["machine"]
    lines = [f"# {m['device']}: gpu-check of {data['started'][:10]}", ""]
    if data["stand_in"]:
        lines += [f"**{data['label']}.**", ""]
    if not data["complete"]:
        lines += ["Not all steps ran: " + data.get("stopped", "a part was asked for, or it was cut off")
                  + ".", ""]
    lines += table(["", ""], [["commit", data["commit"]], ["started", data["started"]],
                              ["ended", data["ended"] or "no"],
                              ["verdict", data.get("verdict", "none")], *m.items()])
    rows = []
    for step in data["steps"]:
        counts = [sum(c["verdict"] == v for c in step["checks"]) for v in ("pass", "fail", "absent")]
        rows.append([step["name"], step["status"], *counts, step.get("reason", "")])
    lines += table(["step", "", "pass", "fail", "absent", ""], rows)
    lines += goals(data)
    for step in data["steps"]:
        lines += section(step)
    return "\n".join(lines).rstrip() + "\n"


def write(path):
    """Writes the page beside the JSON file, whole or not at all."""
    with open(path, encoding="utf-8") as source:
        data = json.load(source)
    target = os.path.splitext(path)[0] + ".md"
    partial = f"{target}.{os.getpid()}.partial"
    with open(partial, "w", encoding="utf-8") as file:
        file.write(text(data))
    os.replace(partial, target)


if __name__ == "__main__":
    write(sys.argv[1])
