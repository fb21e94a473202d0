# SPDX-License-Identifier: Apache-2.0
"""The ways in which a program is run to compare what they cost: alone, with the comparison consumer,
with us, with other profilers. They run by turns; ratios are of runs that lie side by side."""
import statistics
import time

from result import Absent
from tools import Failed, Trace, consumer_refused

NOTHING = "nothing"
LEAST = "comparison consumer"
LEAST_WITHOUT_CALLBACKS = LEAST + " without callbacks"
LEAST_LATENCY = LEAST + " with latency timestamps"
LEAST_WHOLE = LEAST + ", graphs as wholes"
OURS = "TraceSmith"
STACKS = OURS + " with stacks"
OURS_LATENCY = OURS + " with latency timestamps"
STACKS_LATENCY = OURS + " with stacks and latency timestamps"
OURS_WHOLE = OURS + ", graphs as wholes"
TORCH, PROTON = "PyTorch profiler", "Triton Proton"
LEAST_ROUNDS = 3  # for a verdict

CONSUMERS = {LEAST: {}, LEAST_WITHOUT_CALLBACKS: {"EMPTY_CONSUMER_CALLBACKS": "0"},
             LEAST_LATENCY: {"EMPTY_CONSUMER_LATENCY": "1"},
             LEAST_WHOLE: {"EMPTY_CONSUMER_GRAPHS": "graph"}}
PROFILES = {OURS: [], STACKS: ["--stacks"], OURS_LATENCY: ["--cuda-latency"],
            STACKS_LATENCY: ["--stacks", "--cuda-latency"], OURS_WHOLE: ["--cuda-graphs", "graph"]}
# What each is compared with: the consumer that asks CUPTI for the same.
PEERS = {OURS: LEAST, STACKS: LEAST, OURS_LATENCY: LEAST_LATENCY, STACKS_LATENCY: LEAST_LATENCY,
         OURS_WHOLE: LEAST_WHOLE}


def run_way(tools, way, command, trace="way.sbt"):
    """Runs a command in a way: Absent where the way cannot be had, or where CUPTI could not be used."""
    if way == NOTHING:
        return tools.run(command)
    if way in CONSUMERS:
        if not tools.consumer:
            raise Absent("the comparison consumer was not built")
        ran = tools.run(command, CUDA_INJECTION64_PATH=tools.consumer, **CONSUMERS[way])
        refused = consumer_refused(ran.err)
        if refused:
            raise Absent(refused)
        return ran
    for option in PROFILES[way]:
        if option.startswith("--"):
            tools.need_option(option)
    ran = tools.run([tools.tracesmith, "profile", "-q", *PROFILES[way], "-o", tools.path(trace), "--",
                     *command])
    Trace(tools, tools.path(trace)).need_cuda()
    return ran


def alternate(tools, step, ways, rounds, measure, reserve=1.0):
    """`measure(way)` in turns: A, B, C, A, B, C. Saves each number; a way that cannot be had is left
    out, and says so. Stops early, after a whole round, when the next one would leave less than
    `reserve` seconds of the step's time; in the first round the ways that are left get an absence."""
    times = {way: [] for way in ways}
    step.value("ways", list(ways))
    longest = longest_way = 0.0
    for done in range(rounds):
        if done > 0 and tools.left() < longest * 1.3 + reserve:
            step.value("rounds cut", f"{done} of {rounds}: the step's time is over")
            break
        began = time.monotonic()
        for way in list(times):
            if done == 0 and tools.left() < longest_way * 1.3 + reserve:
                del times[way]
                step.absent(way, "the step's time was over before its first run")
                continue
            began_way = time.monotonic()
            try:
                times[way].append(measure(way))
                longest_way = max(longest_way, time.monotonic() - began_way)
            except Absent as reason:
                if done > 0:
                    raise Failed(f"{way} worked {done} times, and then not: {reason}") from reason
                del times[way]
                step.absent(way, reason)
        longest = max(longest, time.monotonic() - began)
        step.value("times_ns", times)
    return times


def ratios(times, way, beside):
    """Of each round, whose runs lie side by side."""
    return [a / b for a, b in zip(times[way], times[beside]) if b]


def middle(values):
    return statistics.median(values) if values else None


def lower_quartile(values):
    return statistics.quantiles(values, n=4, method="inclusive")[0] if len(values) > 1 else values[0]


def spread(values):
    return {"median": round(middle(values), 4), "least": round(min(values), 4),
            "lower quartile": round(lower_quartile(values), 4), "most": round(max(values), 4),
            "rounds": len(values)}


def judge_rounds(step, what, found, goal, met, rounds):
    """A missed goal fails whatever the number of rounds; a goal that fewer than LEAST_ROUNDS meet is not yet
    shown to be met."""
    if met and rounds < LEAST_ROUNDS:
        step.absent(what, f"{rounds} rounds ran and met {goal}; a pass needs {LEAST_ROUNDS}")
    else:
        step.check(what, found, goal, met)


def show_ratios(step, times):
    """Each way beside the program alone, and beside the comparison consumer."""
    table = {}
    for way in times:
        if way == NOTHING or not times[way] or not times.get(NOTHING):
            continue
        row = {"beside nothing": spread(ratios(times, way, NOTHING))}
        if times.get(LEAST) and way != LEAST:
            row["beside the comparison consumer"] = spread(ratios(times, way, LEAST))
        table[way] = row
    step.value("ratios", table)


def judge(step, times, most_over_least=1.01):
    """The goal: the median is at most 1 % over the consumer that asks for the same."""
    for way, peer in PEERS.items():
        if not times.get(way):
            continue  # an absence has been said
        what = f"{way}: time beside that of the {peer}"
        if peer not in step.entry["values"]["ways"]:
            step.absent(what, f"this step has no {peer}")
            continue
        if not times.get(peer):
            step.absent(what, f"the {peer} was not run")
            continue
        ratio = spread(ratios(times, way, peer))
        judge_rounds(step, what, ratio, f"median <= {most_over_least}", ratio["median"] <= most_over_least,
                     ratio["rounds"])


def judge_beside_torch(step, times):
    """The goal: at most half of the PyTorch profiler's overhead."""
    for way in (OURS, STACKS):
        if not times.get(way):
            continue
        what = f"{way}: overhead, beside the PyTorch profiler's"
        if not times.get(TORCH):
            step.absent(what, "the PyTorch profiler was not run")
            continue
        ours = [ratio - 1 for ratio in ratios(times, way, NOTHING)]
        theirs = [ratio - 1 for ratio in ratios(times, TORCH, NOTHING)]
        judge_rounds(step, what, {"ours": spread(ours), "the PyTorch profiler's": spread(theirs)},
                     "median <= 1/2 of it", middle(ours) <= middle(theirs) / 2, len(ours))
