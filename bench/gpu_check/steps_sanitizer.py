# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's compute-sanitizer and the agent: both are let into a program by the driver."""
import re

from machine import compute_sanitizer
from result import Absent
from tools import Trace


def errors_found(text):
    found = re.findall(r"ERROR SUMMARY: (\d+) error", text)
    return sum(map(int, found)) if found else None


def sanitizer(tools, step):
    path = compute_sanitizer()
    if path is None:
        raise Absent("compute-sanitizer is not installed")
    for name, arguments in (("vector_add", (5,)), ("many_small_kernels", ("-n", 500))):
        command = [path, "--tool", "memcheck", *tools.sample(name, *arguments)]
        alone = tools.run(command, codes=None)
        found = errors_found(alone.out + alone.err)
        if found is None:
            raise Absent(f"compute-sanitizer did not run: {alone.last_line()}")
        step.equal(f"{name}: errors that it finds", found, 0)
        step.equal(f"{name}: exit code", alone.code, 0)
        with_agent(tools, step, name, command, alone)


def with_agent(tools, step, name, command, alone):
    """The program must be as without us. Which of the two tools gets nothing is for the record."""
    trace = Trace(tools, tools.path("sanitizer.sbt"))
    ran = tools.run([tools.tracesmith, "profile", "-q", "-o", trace.path, "--", *command], codes=None)
    step.equal(f"{name}, with the agent: exit code", ran.code, alone.code)
    found = errors_found(ran.out + ran.err)
    kernels = trace.one("SELECT count(*) FROM kernel")
    launched = ran.json()["kernels"]
    step.value(f"{name}, with the agent", {
        "compute-sanitizer": "did not check" if found is None else f"found {found} errors",
        "trace": f"{kernels} of {launched} kernels", "reasons": trace.problems()})
    if found is None:
        step.absent(f"{name}, with the agent: errors that it finds", "it did not check: " + ran.last_line())
    else:
        step.equal(f"{name}, with the agent: errors that it finds", found, 0)
    if kernels == 0:
        reasons = trace.problems()
        step.absent(f"{name}, with the sanitizer: kernels in the trace", reasons[0] if reasons else
                    "the driver did not let the agent in beside compute-sanitizer")
    else:
        step.equal(f"{name}, with the sanitizer: kernels in the trace", kernels, launched)


STEPS = (("compute-sanitizer", "NVIDIA's compute-sanitizer, alone and with the agent", 15, sanitizer),)
