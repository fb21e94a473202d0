# SPDX-License-Identifier: Apache-2.0
"""What PyTorch's ranks do with NCCL, beside what NCCL tells the profiler plugin. A GPU alone proves that NCCL loads the
plugin and reports its communicator; two prove the collectives and their times."""
from tools import Trace, try_python

CALLS = 200
MOST_SLOWER = 0.05


def nccl(tools, step):
    tools.need_option("--nccl")
    program = ("nccl_ranks.py", "--calls", 20 if tools.light else CALLS)
    alone = try_python(tools, *program)
    step.value("NCCL", alone["nccl"])
    step.value("ranks", alone["ranks"])
    for events in ("default", "light", "full"):
        trace = Trace(tools, tools.path(f"nccl-{events}.sbt"))
        ran = tools.run([tools.tracesmith, "profile", "-q", "--nccl", events, "-o", trace.path, "--",
                         *tools.script(*program)], codes=None)
        step.equal(f"{events}: exit code", ran.code, 0)
        if ran.code != 0:
            continue
        did = ran.json()
        check_rows(step, events, trace, did)
        step.value(f"{events}: time beside alone", did["seconds"] / alone["seconds"])
    slower = time_of_light(tools, program, alone)
    step.check("light, without CUPTI: time beside alone", slower, f"<= {1 + MOST_SLOWER}", slower <= 1 + MOST_SLOWER)


def time_of_light(tools, program, alone):
    """The quicker of two runs with the events of the host alone, beside the program alone."""
    times = []
    for number in range(2):
        trace = tools.path(f"nccl-time-{number}.sbt")
        ran = tools.run([tools.tracesmith, "profile", "-q", "-p", "opencl", "--nccl", "light", "-o", trace, "--",
                         *tools.script(*program)])
        times.append(ran.json()["seconds"] / alone["seconds"])
    return min(times)


def check_rows(step, events, trace, did):
    step.equal(f"{events}: communicators", trace.one("SELECT count(*) FROM communicator WHERE library = 'NCCL' AND "
                                                     f"ranks = {did['ranks']}"), did["ranks"])
    step.equal(f"{events}: events lost", trace.one("SELECT coalesce(sum(dropped), 0) FROM loss WHERE source = "
                                                   "'NCCL events'"), 0)
    step.value(f"{events}: events without their operation", trace.one(
        "SELECT coalesce(sum(unresolved), 0) FROM loss WHERE source = 'NCCL events'"))
    if did["ranks"] < 2:
        step.absent(f"{events}: collectives", "one rank alone enqueues nothing")
        return
    # One more all_reduce makes the communicator.
    for function, calls in (("ncclAllReduce", did["calls"] + 1), ("ncclAllGather", did["calls"]),
                            ("ncclBroadcast", did["calls"])):
        step.equal(f"{events}: {function}", trace.one(f"SELECT count(*) FROM comm WHERE function = '{function}'"),
                   calls * did["ranks"])
    if events == "light":
        return
    rows = trace.rows("SELECT timing_source, count(*) AS n, max(error_ns) AS error_ns FROM comm_work WHERE kind = "
                      "'operation' GROUP BY 1")
    step.value(f"{events}: rows of comm_work", {row["timing_source"]: row["n"] for row in rows})
    step.value(f"{events}: the largest bound of the GPU's clock, ns", max((row["error_ns"] for row in rows), default=0))
    # The kernel that CUPTI saw, of which the channels are a part.
    outside = trace.one("SELECT count(*) FROM comm_work w WHERE kind = 'operation' AND timing_source = 'device' AND NOT "
                        "EXISTS (SELECT 1 FROM kernel k WHERE k.name LIKE '%nccl%' AND k.start_ns - w.error_ns - 2000 "
                        "<= w.start_ns AND w.start_ns + w.duration_ns <= k.start_ns + k.duration_ns + w.error_ns + 2000)")
    step.equal(f"{events}: work outside of NCCL's kernels", outside, 0)


STEPS = (("nccl", "NCCL's events beside what its ranks did", 60, nccl),)
