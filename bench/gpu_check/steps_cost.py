# SPDX-License-Identifier: Apache-2.0
"""What recording costs: programs run alone, with an empty consumer of CUPTI, with us and with others,
by turns; ratios of what ran side by side, and their medians."""
import os

from result import Absent
from tools import Trace, alternate, middle, ratios, spread

LAUNCHES_A_SECOND = 93_457  # of the table that the request shows
EMPTY, OURS, STACKS = "empty consumer", "TraceSmith", "TraceSmith with stacks"
CALLBACKS = EMPTY + " with callbacks"
TORCH, PROTON = "PyTorch profiler", "Triton Proton"


def show_ratios(step, times, ways):
    table = {}
    for way in ways:
        if way not in times or way == "nothing" or not times[way]:
            continue
        row = {"beside nothing": spread(ratios(times, way, "nothing"))}
        if EMPTY in times and way != EMPTY:
            row["beside the empty consumer"] = spread(ratios(times, way, EMPTY))
        table[way] = row
    step.value("ratios", table)
    return table


def judge(step, times, with_torch=False):
    """The goals: 1 % over the empty consumer, half of what the PyTorch profiler costs."""
    for way in (OURS, STACKS):
        if not times.get(way):
            step.absent(way, "it was not run")
            continue
        if times.get(EMPTY):
            ratio = round(middle(ratios(times, way, EMPTY)), 4)
            step.check(f"{way}: time beside the empty consumer's", ratio, "<= 1.01", ratio <= 1.01)
        else:
            step.absent(f"{way}: time beside the empty consumer's", "it was not run")
        if not with_torch:
            continue
        if times.get(TORCH):
            ours = round(middle(ratios(times, way, "nothing")) - 1, 4)
            theirs = round(middle(ratios(times, TORCH, "nothing")) - 1, 4)
            step.check(f"{way}: overhead, beside the PyTorch profiler's", [ours, theirs],
                       "<= 1/2 of it", ours <= theirs / 2)
        else:
            step.absent(f"{way}: overhead, beside the PyTorch profiler's", "it was not run")


def launches_of(tools, ordinary):
    return ordinary // 10 if tools.light else ordinary


def sample_overhead(tools, step):
    """Small kernels launched as fast as the program can: the worst that can be done to a tracer."""
    launches = step.value("launches", launches_of(tools, 50_000))
    ways = ("nothing", EMPTY, CALLBACKS, OURS, STACKS)

    def measure(way):
        command, env = tools.command_of(way, tools.sample("many_small_kernels", "-n", launches))
        return tools.run(command, **env).json()["loop_ns"]

    measure("nothing")  # files are in memory from here on
    times = alternate(tools, step, ways, 3 if tools.light else 7, measure)
    show_ratios(step, times, ways)
    judge(step, times)


def steady_overhead(tools, step):
    """Kernels that keep the device busy: what a program that is not launch-bound pays."""
    kernels = 100 if tools.light else 1000
    step.value("kernels", kernels)
    ways = ("nothing", EMPTY, OURS, STACKS)

    def measure(way):
        command, env = tools.command_of(way, tools.sample("streams", "one", kernels, 200))
        bracket = tools.run(command, **env).json()["brackets"][-1]
        return bracket["end_ns"] - bracket["begin_ns"]

    times = alternate(tools, step, ways, 3 if tools.light else 7, measure)
    show_ratios(step, times, ways)
    judge(step, times)


def train_overhead(tools, step):
    """A training loop of PyTorch in all ways, the PyTorch profiler and Triton's Proton among them."""
    steps = step.value("steps", 20 if tools.light else 200)
    ways = ("nothing", EMPTY, OURS, STACKS, TORCH, PROTON)
    try_python(tools, "train_step.py", "--steps", 2)

    def measure(way):
        if way in (TORCH, PROTON):
            name = "torch" if way == TORCH else "proton"
            ran = tools.run(tools.script("train_step.py", "--steps", steps, "--profiler", name), codes=None)
            if ran.code != 0:
                raise Absent(ran.last_line())
            return ran.json()["loop_ns"]
        command, env = tools.command_of(way, tools.script("train_step.py", "--steps", steps))
        return tools.run(command, **env).json()["loop_ns"]

    times = alternate(tools, step, ways, 5, measure)
    show_ratios(step, times, ways)
    judge(step, times, with_torch=True)


def try_python(tools, name, *arguments):
    """Runs a program alone: where that can not be done, nothing about it can be said."""
    ran = tools.run(tools.script(name, *arguments), codes=None)
    if ran.code != 0:
        raise Absent(ran.last_line())
    return ran.json()


# --- Stacks -----------------------------------------------------------------------------------


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
    ways = ("nothing", OURS, STACKS)

    def measure(way):
        command = tools.sample("many_small_kernels", "-n", launches, "--expect", expected)
        command, env = tools.command_of(way, command, "stacks.sbt")
        return tools.run(command, **env).json()["loop_ns"]

    times = alternate(tools, step, ways, 3 if tools.light else 5, measure)
    _, ran = tools.profile("stacks.sbt", tools.sample("many_small_kernels", "-n", launches, "--expect",
                                                      expected), ["-q", "--stacks"])
    did = ran.json()
    trace = trace_of(tools, "stacks.sbt")
    tools.run([tools.tracesmith, "symbolize", trace.path], codes=None)
    paths, order = read_expected(expected)
    found = compare_stacks(trace, paths, order)
    ns = middle(times[STACKS])
    rate = int(launches * 1e9 / ns)
    counts = trace.row("""SELECT (SELECT count(*) FROM kernel) AS kernels, (SELECT count(*) FROM kernel) +
        (SELECT count(*) FROM copy) + (SELECT count(*) FROM fill) AS events,
        (SELECT count(*) FROM host_call) AS calls, (SELECT count(call_path_id) FROM host_call) AS stacks""")
    step.value("table", {"GPU kernels launched": launches, "kernels in the trace": counts["kernels"],
                         "device events": counts["events"],
                         "host call stacks": f"{counts['stacks']} of {counts['calls']} calls",
                         "average stack depth": found["frames"],
                         "kernels with stacks": f"{100 * found['with_stack'] / launches:.2f} %",
                         "total time": f"{ns / 1e6:.2f} ms", "throughput": f"{rate} kernels/s"})
    show_ratios(step, times, ways)
    step.equal("kernels in the trace", counts["kernels"], did["kernels"])
    step.equal("launches with a stack", found["with_stack"], launches)
    step.equal("launches with just the stack they went through", found["equal"], launches)
    if found["first_wrong"]:
        step.value("first wrong stack", found["first_wrong"])
    step.check("kernels a second, with stacks", rate, f">= {LAUNCHES_A_SECOND}",
               rate >= LAUNCHES_A_SECOND)


def trace_of(tools, name):
    return Trace(tools, tools.path(name))


def launch_rate(tools, step):
    """How fast launches go when there are many, and whether all of them are there in the end."""
    launches = step.value("launches", launches_of(tools, 300_000))
    rows = {}
    for way in ("nothing", EMPTY, OURS, STACKS):
        try:
            command, env = tools.command_of(way, tools.sample("many_small_kernels", "-n", launches),
                                            "rate.sbt")
            did = tools.run(command, **env).json()
        except Absent as reason:
            step.absent(way, reason)
            continue
        rows[way] = {"kernels a second": int(launches * 1e9 / did["loop_ns"]),
                     "launches a second": int(launches * 1e9 / did["launch_ns"])}
        step.value("rates", rows)
        if way in (OURS, STACKS):
            trace = trace_of(tools, "rate.sbt")
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


STEPS = (("10k stacks", "10,000 launches with their call stacks", 50, ten_thousand_stacks),
         ("launch rate", "How fast launches go", 40, launch_rate),
         ("overhead of launches", "Small kernels, launched as fast as can be", 60, sample_overhead),
         ("overhead of a busy device", "One stream that never runs dry", 45, steady_overhead))
PYTHON_STEPS = (("overhead of training", "A training loop of PyTorch", 150, train_overhead),)
