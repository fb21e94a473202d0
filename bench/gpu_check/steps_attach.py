# SPDX-License-Identifier: Apache-2.0
"""A program that runs and is recorded for a while: what it did meanwhile is in the trace, it notices
nothing, and afterwards it is as fast as before."""
import os
import time

from steps_truth import check_limits, put_into_brackets
from tools import Failed, Trace
from ways import middle

MOST_LEFT_BEHIND = 1.05


def state_of(tools, pid, env):
    listed = tools.run([tools.tracesmith, "arm", "--list"], **env)
    states = {int(words[0]): words[1] for words in map(str.split, listed.out.splitlines()) if len(words) > 1}
    return states.get(pid)


def wait_for(tools, pid, wanted, env, child):
    while state_of(tools, pid, env) != wanted:
        if child.poll() is not None:
            _, err = child.communicate()
            raise Failed(f"it ended before it was {wanted}: {err.decode('utf-8', 'replace')[-300:]}")
        if tools.left() < 1:
            raise TimeoutError(f"it was not {wanted} in time")
        time.sleep(0.02)


def ns_a_kernel(batches):
    return [(b["end_ns"] - b["begin_ns"]) / b["kernels"] for b in batches]


def attach(tools, step):
    control = tools.path("control")
    os.makedirs(control, mode=0o700, exist_ok=True)
    env = {"TRACESMITH_CONTROL": control}
    phase = 0.7 if tools.light else 2.5
    # The batches must be short beside the phases.
    sample = tools.sample("many_small_kernels", "-n", 2000, "--seconds", int(3 * phase + 2.5))
    alone = tools.run(tools.sample("many_small_kernels", "-n", 2000))
    child = tools.start([tools.tracesmith, "arm", "--", *sample], **env)
    wait_for(tools, child.pid, "waiting", env, child)
    time.sleep(phase)
    trace = Trace(tools, tools.path("attached.sbt"))
    asked = time.monotonic_ns()
    recorder = tools.run([tools.tracesmith, "record", "--pid", str(child.pid), "-d", str(phase), "-q", "-o",
                          trace.path], codes=None, **env)
    left = time.monotonic_ns()
    if recorder.code != 0:
        raise Failed(f"record --pid ended with {recorder.code}: {recorder.last_line()}")
    still = state_of(tools, child.pid, env)
    ran = tools.wait(child)
    trace.need_cuda()
    step.equal("the program waits again after the capture", still, "waiting")
    step.equal("the program's exit code", ran.code, 0)
    step.equal("what it said on its standard error, beside what it says alone", ran.err, alone.err)
    did = ran.json()
    step.equal("its results are right", did["verified"], True)
    check_capture(step, trace, did["brackets"])
    check_limits(step, trace, did, "attached")
    show_rates(step, did["brackets"][2:], asked, left)  # its warm-up, and the batch before --seconds


def check_capture(step, trace, batches):
    """Exactly what was launched between two moments is in the trace, and batches within have all."""
    row = trace.row("""SELECT count(*) AS kernels, count(DISTINCT correlation_id) AS launches FROM kernel""")
    calls = trace.one("SELECT count(*) FROM host_call WHERE kind = 'launch'")
    step.equal("kernels, beside the launches in the trace", row["kernels"], calls)
    step.equal("records lost", trace.lost(), 0)
    step.equal("the trace is sound", trace.whole(), True)
    span = trace.row("SELECT min(start_ns) AS first, max(end_ns) AS last FROM host_call WHERE kind = 'launch'")
    if span["first"] is None:
        raise Failed("no launch is in the trace")
    within = [b for b in batches if b["begin_ns"] > span["first"] and b["end_ns"] < span["last"]]
    step.check("batches within the capture", len(within), "> 0", len(within) > 0)
    within = within[:50]
    if within:
        kernels = trace.rows(f"""SELECT start_ns, end_ns FROM kernel WHERE end_ns >= {within[0]['begin_ns']}
            AND start_ns <= {within[-1]['end_ns']}""")
        found, _ = put_into_brackets(kernels, batches)
        step.equal("batches without just their kernels", sum(
            n != b["kernels"] for b, n in zip(batches, found) if b in within), 0)


def show_rates(step, batches, asked, left):
    phases = {"before": [b for b in batches if b["end_ns"] < asked],
              "during": [b for b in batches if b["begin_ns"] > asked and b["end_ns"] < left],
              "after": [b for b in batches if b["begin_ns"] > left]}
    table = {name: {"batches": len(all_), "ns a kernel": round(middle(ns_a_kernel(all_)), 1) if all_ else None}
             for name, all_ in phases.items()}
    step.value("rates", table)
    if not phases["before"] or not phases["after"]:
        step.absent("cost left behind", "no batch ran before, or none after the capture")
        return
    before = table["before"]["ns a kernel"]
    ratio = round(table["after"]["ns a kernel"] / before, 4)
    if phases["during"]:
        step.value("time of a kernel during the capture, beside before", round(
            table["during"]["ns a kernel"] / before, 4))
    step.check("overhead left behind: time of a kernel after the capture, beside before", ratio,
               f"<= {MOST_LEFT_BEHIND}", ratio <= MOST_LEFT_BEHIND)


def attach_many_threads(tools, step):
    """Threads that launch at once, kernels and graphs, while a recorder comes and goes, twice."""
    control = tools.path("control-threads")
    os.makedirs(control, mode=0o700, exist_ok=True)
    env = {"TRACESMITH_CONTROL": control}
    threads = step.value("threads", 2 if tools.light else 8)
    phase = 0.5 if tools.light else 1.0
    child = tools.start([tools.tracesmith, "arm", "--", *tools.sample("threads", threads, int(5 * phase + 2.5))], **env)
    wait_for(tools, child.pid, "waiting", env, child)
    time.sleep(phase)
    captures, asked = [], time.monotonic_ns()
    for number in (1, 2):
        trace = Trace(tools, tools.path(f"threads-{number}.sbt"))
        recorder = tools.run([tools.tracesmith, "record", "--pid", str(child.pid), "-d", str(phase), "-q", "-o",
                              trace.path], codes=None, **env)
        if child.poll() is not None:
            raise Failed(f"the program ended with {child.returncode} during or after capture {number}: "
                         + tools.wait(child).last_line())
        if recorder.code != 0:
            raise Failed(f"record --pid ended with {recorder.code}: {recorder.last_line()}")
        captures.append(trace)
    left = time.monotonic_ns()
    ran = tools.wait(child)
    step.equal("the program's exit code, and what it said on its standard error", [ran.code, ran.err], [0, ""])
    did = ran.json()
    step.equal("its results are right", did["verified"], True)
    for number, trace in enumerate(captures, 1):
        trace.need_cuda()
        launches = trace.one("SELECT count(*) FROM host_call WHERE kind = 'launch'")
        step.check(f"capture {number}: launches", launches, "> 0", launches > 0)
        step.equal(f"capture {number}: launches with their kernels",
                   trace.one("SELECT count(DISTINCT correlation_id) FROM kernel"), launches)
        step.equal(f"capture {number}: threads that launch", trace.one(
            "SELECT count(DISTINCT thread_id) FROM host_call WHERE kind = 'launch'"), threads)
        step.equal(f"capture {number}: the trace is sound, records lost", [trace.whole(), trace.lost()], [True, 0])
    before = [ns for end, ns in did["rounds"] if end < asked]
    after = [ns for end, ns in did["rounds"] if end > left]
    step.value("ns a kernel", {"before": middle(before), "after both captures": middle(after)})


STEPS = (("arm and attach", "A program that runs, recorded for a while", 30, attach),
         ("attach, many threads", "Threads that launch at once, recorded for a while, twice", 25,
          attach_many_threads))
