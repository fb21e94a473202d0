# SPDX-License-Identifier: Apache-2.0
"""Launches with their call stacks: whether each is there and right, and how fast they go."""
import os

from result import Absent
from tools import Trace
from ways import LEAST, NOTHING, OURS, STACKS, alternate, judge, middle, run_way, show_ratios

LAUNCHES_A_SECOND = 93_457  # from the README of TraceSmith 0.8.0


def read_expected(path):
    paths, launches = [], []
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words[0] == "path":
                paths.append(words[2:])
            else:
                launches.append(int(words[1]))
    return paths, launches


def names_of_paths(trace):
    """The functions of each call path, innermost first."""
    function = {row["id"]: row["name"] or "" for row in trace.rows("SELECT id, name FROM frame")}
    parents = {row["id"]: (row["parent"], row["frame"])
               for row in trace.rows("SELECT id, parent, frame FROM call_path")}
    names = {}
    for path in parents:
        at, stack = path, []
        while at in parents and len(stack) < 1000:
            parent, frame = parents[at]
            stack.append(function.get(frame, ""))
            at = parent
        names[path] = stack
    return names


def compare_stacks(trace, paths, launches):
    """How many launches have a stack, how many the one they were launched through, all frames of the
    program, and what the first wrong one was."""
    names = names_of_paths(trace)
    kernels = trace.rows("SELECT call_path_id FROM kernel ORDER BY correlation_id")[-len(launches):]
    with_stack = equal = frames = 0
    outside, wrong = None, None
    right = {}
    for kernel, launch in zip(kernels, launches):
        stack = names.get(kernel["call_path_id"]) or []
        with_stack += bool(stack)
        frames += len(stack)
        key = (kernel["call_path_id"], launch)
        if key not in right:
            wanted = paths[launch]
            at = stack.index(wanted[0]) if wanted[0] in stack else len(stack)
            rest = stack[at + len(wanted):]
            outside = rest if outside is None and rest else outside
            right[key] = stack[at:at + len(wanted)] == wanted and rest == outside
            if not right[key] and wrong is None:
                wrong = {"is": stack[:40], "expected": wanted}
        equal += right[key]
    return {"launches": len(kernels), "with_stack": with_stack, "equal": equal,
            "frames": round(frames / max(1, len(kernels)), 1), "first_wrong": wrong}


def ten_thousand_stacks(tools, step):
    """10,000 launches through 64 call paths; every stack is compared."""
    launches = 10_000
    expected = tools.path("expected")
    command = tools.sample("many_small_kernels", "-n", launches, "--expect", expected)
    trace, ran = tools.profile("stacks.sbt", command, ["-q", "--stacks"])
    did = ran.json()
    tools.run([tools.tracesmith, "symbolize", trace.path], codes=None)
    paths, order = read_expected(expected)
    found = compare_stacks(trace, paths, order)
    counts = trace.row("""SELECT (SELECT count(*) FROM kernel) AS kernels, (SELECT count(*) FROM kernel) +
        (SELECT count(*) FROM copy) + (SELECT count(*) FROM fill) AS events,
        (SELECT count(*) FROM host_call) AS calls, (SELECT count(call_path_id) FROM host_call) AS stacks""")
    step.equal("kernels in the trace", counts["kernels"], did["kernels"])
    step.equal("launches with a stack", found["with_stack"], launches)
    step.equal("launches with just the stack they went through", found["equal"], launches)
    if found["first_wrong"]:
        step.value("first wrong stack", found["first_wrong"])
    times = alternate(tools, step, (NOTHING, LEAST, OURS, STACKS), 3 if tools.light else 5,
                      lambda way: run_way(tools, way, command).json()["loop_ns"])
    if not times.get(STACKS):
        return  # its absence has been said
    ns = middle(times[STACKS])
    rate = int(launches * 1e9 / ns)
    step.value("table", {"GPU kernels launched": launches, "kernels in the trace": counts["kernels"],
                         "device events": counts["events"],
                         "host call stacks": f"{counts['stacks']} of {counts['calls']} calls",
                         "average stack depth": found["frames"],
                         "kernels with stacks": f"{100 * found['with_stack'] / launches:.2f} %",
                         "total time": f"{ns / 1e6:.2f} ms", "throughput": f"{rate} kernels/s",
                         "throughput that TraceSmith 0.8.0 states": f"{LAUNCHES_A_SECOND} kernels/s"})
    show_ratios(step, times)
    judge(step, times)
    step.check("kernels a second, with stacks", rate, f">= {LAUNCHES_A_SECOND}",
               rate >= LAUNCHES_A_SECOND)


def launch_rate(tools, step):
    """How fast launches go when there are many, and whether all of them are there in the end."""
    launches = step.value("launches", 30_000 if tools.light else 300_000)
    rows = {}
    for way in (NOTHING, LEAST, OURS, STACKS):
        try:
            did = run_way(tools, way, tools.sample("many_small_kernels", "-n", launches), "rate.sbt").json()
        except Absent as reason:
            step.absent(way, reason)
            continue
        rows[way] = {"kernels a second": int(launches * 1e9 / did["loop_ns"]),
                     "launches a second": int(launches * 1e9 / did["launch_ns"])}
        step.value("rates", rows)
        if way in (OURS, STACKS):
            trace = Trace(tools, tools.path("rate.sbt"))
            row = trace.row("SELECT count(*) AS kernels, count(call_path_id) AS stacks FROM kernel")
            step.equal(f"{way}: kernels in the trace", row["kernels"], did["kernels"])
            step.equal(f"{way}: records lost", trace.lost(), 0)
            rows[way]["bytes a kernel"] = round(os.path.getsize(trace.path) / max(1, row["kernels"]), 1)
        if way == STACKS:
            step.equal("kernels with stacks", row["stacks"], did["kernels"])
            rate = rows[way]["kernels a second"]
            step.check("kernels a second, with stacks", rate, f">= {LAUNCHES_A_SECOND}",
                       rate >= LAUNCHES_A_SECOND)
    step.value("rates", rows)


STEPS = (("10k stacks", "10,000 launches with their call stacks", 40, ten_thousand_stacks),
         ("launch rate", "How fast launches go", 20, launch_rate))
