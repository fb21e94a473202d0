# SPDX-License-Identifier: Apache-2.0
"""What only PyTorch does to a recorder: its own profiler takes CUPTI as well, and its allocator maps
physical memory into segments that grow."""
import os
import time

from result import Absent
from steps_attach import wait_for
from tools import Failed, Trace, try_python

STEPS_OF_TRAINING = 10
OTHER = "PyTorch's profiler"


def reasons_that_name(trace, who):
    return [row["reason"] for row in trace.rows("SELECT DISTINCT reason FROM loss WHERE reason IS NOT NULL")
            if who in row["reason"]]


def counted_kernels(tools, step, command):
    """What the comparison consumer counts without the other profiler; None where it cannot."""
    try:
        counted, _ = tools.count(command)
    except Absent as reason:
        step.value("the comparison consumer", str(reason))
        return None
    if counted["refused"]:
        step.value("the comparison consumer", counted["refused"])
        return None
    return counted["kernels"]


def check_all_or_named(step, what, kernels, expected, named):
    """Another profiler may take what one tool alone can have; then the trace must say so."""
    step.check(what, {"kernels": kernels, "launched": expected, "the loss names it": bool(named)},
               f"{expected} kernels, or a loss that names {OTHER}", kernels == expected or bool(named))


def another_profiler(tools, step):
    """PyTorch's profiler runs in the program that is recorded: who gets the kernels, and is it said."""
    train = ("train_step.py", "--steps", STEPS_OF_TRAINING)
    with_profiler = (*train, "--profiler", "torch", "--count")
    command = tools.script(*with_profiler)
    began = time.monotonic()
    alone = try_python(tools, *with_profiler)
    seconds = time.monotonic() - began
    launched = counted_kernels(tools, step, tools.script(*train))
    trace = Trace(tools, tools.path("profiler.sbt"))
    ran = tools.run([tools.tracesmith, "profile", "-q", "-o", trace.path, "--", *command], codes=None)
    step.equal("exit code", ran.code, 0)
    if ran.code != 0:
        raise Failed(ran.last_line())
    did, named = ran.json(), reasons_that_name(trace, OTHER)
    step.equal("the loss is the same as alone", did["loss"], alone["loss"])
    step.equal("the trace is sound", trace.whole(), True)
    kernels = trace.one("SELECT count(*) FROM kernel")
    if launched is None:  # the profiler saw some of the steps alone
        least = alone["profiler_kernels"]
        step.check("kernels in the trace", kernels, f">= {least}, or a loss that names {OTHER}",
                   kernels >= least > 0 or bool(named))
    else:
        check_all_or_named(step, "kernels in the trace", kernels, launched, named)
    step.value("who gets the kernels", {
        "TraceSmith": f"{kernels} of {'an unknown number' if launched is None else launched}",
        OTHER: f"{did['profiler_kernels']}, alone {alone['profiler_kernels']}", "reasons": named or "none"})
    armed_beside_profiler(tools, step, with_profiler, alone, 2 * seconds + 7)


def armed_beside_profiler(tools, step, program, alone, needed):
    """The profiler already runs when `record --pid` starts, and still runs when it ends."""
    if tools.left() < needed:
        step.absent("armed", f"{needed:.0f} s would be needed, and the step has {tools.left():.0f} s left")
        return
    pause = 0.2 if tools.light else 0.3  # after each step, so that the recorder comes and goes within
    control, marker = tools.path("profiler-control"), tools.path("profiler-started")
    os.makedirs(control, mode=0o700, exist_ok=True)
    env = {"TRACESMITH_CONTROL": control}
    child = tools.start([tools.tracesmith, "arm", "--", *tools.script(
        *program, "--pause", pause, "--marker", marker)], **env)
    while not os.path.exists(marker):
        if child.poll() is not None:
            raise Failed(f"armed, it ended before its profiler started: {tools.wait(child).last_line()}")
        if tools.left() < 1:
            raise TimeoutError("armed, its profiler did not start in time")
        time.sleep(0.02)
    wait_for(tools, child.pid, "waiting", env, child)
    trace = Trace(tools, tools.path("profiler-armed.sbt"))
    recorder = tools.run([tools.tracesmith, "record", "--pid", str(child.pid), "-d", str(2 * pause), "-q",
                          "-o", trace.path], codes=None, **env)
    still_runs = child.poll() is None
    ran = tools.wait(child)
    step.equal("armed: exit codes of the recorder and the program", [recorder.code, ran.code], [0, 0])
    if recorder.code != 0 or ran.code != 0:
        raise Failed((recorder if recorder.code != 0 else ran).last_line())
    did, named = ran.json(), reasons_that_name(trace, OTHER)
    step.equal("armed: the program outlives the recorder", still_runs, True)
    step.equal("armed: the loss is the same as alone", did["loss"], alone["loss"])
    kernels = trace.one("SELECT count(*) FROM kernel")
    launches = trace.one("SELECT count(*) FROM host_call WHERE kind = 'launch'")
    step.check("armed: launches in the trace", launches, "> 0", launches > 0)
    check_all_or_named(step, "armed: kernels, beside the launches in the trace", kernels, launches, named)
    step.value("armed: who gets the kernels", {
        "TraceSmith": f"{kernels} of {launches} that it saw launched",
        OTHER: f"{did['profiler_kernels']}, alone {alone['profiler_kernels']}", "reasons": named or "none"})


def expandable_segments(tools, step):
    """The peak of the segments' memory events is what PyTorch's allocator has reserved; what its libraries allocate
    beside it is not in that number."""
    env = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    try_python(tools, "train_step.py", "--steps", 2)
    trace, ran = tools.profile("segments.sbt", tools.script("train_step.py", "--steps", STEPS_OF_TRAINING),
                               ["-q"], **env)
    reserved = ran.json()["reserved_bytes"]
    events = trace.rows("SELECT kind, bytes FROM memory_event WHERE name = 'device memory, virtual' ORDER BY time_ns")
    # PyTorch first tries what the machine can do, and some of these tries fail.
    calls = trace.one("SELECT count(*) FROM host_call WHERE name LIKE 'cuMemCreate%' AND result = 0")
    if calls == 0:
        raise Absent("this PyTorch made no expandable segments: the trace has no call of cuMemCreate")
    step.equal("memory events of the segments, beside calls of cuMemCreate",
               sum(event["kind"] == "alloc" for event in events), calls)
    live = peak = 0
    for event in events:
        live += event["bytes"] if event["kind"] == "alloc" else -event["bytes"]
        peak = max(peak, live)
    step.check("peak of live bytes of the segments, beside what PyTorch reserved", peak, f"= {reserved}",
               peak == reserved > 0)


STEPS = (("another profiler", "PyTorch's profiler in a program that is recorded", 110, another_profiler),
         ("expandable segments", "PyTorch's memory of expandable segments", 40, expandable_segments))
