# SPDX-License-Identifier: Apache-2.0
"""Times in a trace against what the kernels themselves read from the device's clock (%globaltimer). The
sample relates that clock to the host's by exchanges with a running kernel, each of which has a width."""
import bisect
import os

from result import Absent
from tolerance import CLOCK_NS, check_overlaps
from tools import Failed
from ways import middle

MOST_P99_NS = 20_000  # the median and the drift: CLOCK_NS
SWITCH = "TRACESMITH_CUDA_CLOCK"


class DeviceClock:
    """Host times of the device's: interpolated between exchanges, and beyond them by the nearest two."""

    def __init__(self, exchanges):
        self.points = sorted((device, (before + after) / 2) for before, device, after in exchanges)
        if len(self.points) < 2:
            raise Failed("the program made fewer than two exchanges")
        self.half_width = max((after - before) / 2 for before, _, after in exchanges)
        (d0, h0), (d1, h1) = self.points[0], self.points[-1]
        self.ppm = ((h1 - h0) / (d1 - d0) - 1) * 1e6

    def host(self, device):
        at = min(max(bisect.bisect(self.points, (device,)), 1), len(self.points) - 1)
        (d0, h0), (d1, h1) = self.points[at - 1], self.points[at]
        return h0 + (device - d0) * (h1 - h0) / (d1 - d0)


def distribution(values):
    ordered = sorted(values, key=abs)
    return {"median": round(middle(values)), "p99": round(abs(ordered[(len(ordered) * 99 - 1) // 100])),
            "most": round(abs(ordered[-1]))}


def errors(did, kernels):
    """Of each kernel: how far its middle in the trace is from where it was by its own readings; and
    start and end alone, which include what happens before and after the kernel's code."""
    clock = DeviceClock(did["exchanges"])
    found = {"middle": [], "start": [], "end": []}
    for (_, begin, end, _), kernel in zip(did["stamps"], kernels):
        start, stop = kernel["start_ns"] - clock.host(begin), kernel["end_ns"] - clock.host(end)
        found["start"].append(start)
        found["end"].append(stop)
        found["middle"].append((start + stop) / 2)
    return clock, found


def run_with(tools, step, which, changes, judged):
    """`judged`: what is found is held against the goals; else it is for comparison alone."""
    seconds, gap = (2, 4000) if tools.light else (6, 8000)
    trace, did = tools.profile_sample(step, "clocks", seconds, gap, **changes)
    count = trace.one("SELECT count(*) FROM kernel")
    if judged:
        step.equal(f"{which}: kernels", count, did["kernels"])
    else:
        step.value(f"{which}: kernels", f"{count} of {did['kernels']}")
    # The first one is before the first stamp.
    kernels = trace.rows("SELECT start_ns, end_ns, correlation_id FROM kernel WHERE name = 'stamp' "
                         "ORDER BY correlation_id")[1:]
    stamps = did["stamps"]
    if judged:
        step.equal(f"{which}: kernels with a reading", len(kernels), len(stamps))
    if len(kernels) != len(stamps) or not stamps:
        step.value(f"{which}: kernels with a reading", f"{len(kernels)} of {len(stamps)}")
        return
    beyond = [max(0, before - k["start_ns"], k["end_ns"] - after)
              for (before, _, _, after), k in zip(stamps, kernels)]
    outside = sum(ns > 0 for ns in beyond)
    step.value(f"{which}: farthest outside of a host bracket in ns", max(beyond))
    if judged:
        check_overlaps(step, f"{which}: kernels that begin before the one before has ended",
                       zip(kernels, kernels[1:]))
        step.equal(f"{which}: kernels outside of their host bracket", outside, 0)
    else:
        step.value(f"{which}: kernels outside of their host bracket", outside)
    clock, found = errors(did, kernels)
    fifth = max(1, len(stamps) // 5)
    drift = round(middle(found["middle"][-fifth:]) - middle(found["middle"][:fifth]))
    step.value(f"{which}: error in ns", {name: distribution(values) for name, values in found.items()})
    step.value(f"{which}: clocks", {
        "seconds": round((stamps[-1][3] - stamps[0][0]) / 1e9, 2), "kernels": len(stamps), "drift_ns": drift,
        "resolution_ns": did["resolution_ns"], "half width of the exchanges in ns": round(clock.half_width),
        "device's clock beside the host's in ppm": round(-clock.ppm, 2)})
    if not judged:
        return
    own = clock.half_width + did["resolution_ns"]  # what the comparison itself may be wrong by
    for what, value, most in (("median error", abs(distribution(found["middle"])["median"]), CLOCK_NS),
                              ("99th percentile of the error", distribution(found["middle"])["p99"], MOST_P99_NS),
                              ("drift over the run", abs(drift), CLOCK_NS)):
        step.check(f"{which}: {what} in ns", value, f"<= {most} + {round(own)}", value <= most + own)


def clocks(tools, step):
    run_with(tools, step, "nanoseconds", {}, True)


def agent_of(tools):
    """The agent beside the command."""
    folder = os.path.dirname(os.path.realpath(tools.tracesmith))
    return os.path.join(os.path.dirname(folder), "lib", "tracesmith", "libtracesmith-cuda.so")


def clocks_of_ticks(tools, step):
    """The same with the processor's ticks, which CUPTI relates to the device's clock; for comparison."""
    try:
        with open(agent_of(tools), "rb") as file:
            known = SWITCH.encode() in file.read()
    except OSError as error:
        raise Absent(f"the agent cannot be read: {error}") from None
    if not known:
        raise Absent(f"this agent does not know {SWITCH}")
    run_with(tools, step, "ticks", {SWITCH: "ticks"}, False)


STEPS = (("clocks", "Times beside the kernels' own readings of the device's clock", 25, clocks),)
LATER_STEPS = (("clocks of ticks", "The same, with the processor's ticks as the agent's clock", 20,
                clocks_of_ticks),)
