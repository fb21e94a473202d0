# SPDX-License-Identifier: Apache-2.0
"""annotate() and mark() of a program that `tracesmith profile` runs."""
import os
import subprocess
import sys

import pytest

import tracesmith as ts

PROGRAM = """
import asyncio, os, sys, threading
import tracesmith as ts

@ts.annotate("called")
def called():
    pass

with ts.annotate("outer"):
    with ts.annotate("innér"):
        called()
    ts.mark("half time")

def in_thread():
    with ts.annotate("of a thread"):
        called()

thread = threading.Thread(target=in_thread)
thread.start()
thread.join()

async def part(name, first, second):
    with ts.annotate(name):
        first.set()
        await second.wait()

async def both():  # the one that began first ends first
    a, b = asyncio.Event(), asyncio.Event()
    async def later():
        await a.wait()
        with ts.annotate("second task"):
            b.set()
            await asyncio.sleep(0.01)
    await asyncio.gather(part("first task", a, b), later())

asyncio.run(both())
with ts.profile(sys.argv[1], platform=ts.PlatformType.Unknown):
    with ts.annotate("both"):
        pass
if os.fork() == 0:
    with ts.annotate("child"):
        pass
    os._exit(0)
os.wait()
try:
    with ts.annotate("raises"):
        raise KeyError
except KeyError:
    pass
with ts.annotate("half a pair: \\ud800"):
    pass
ts.annotate("never ends").__enter__()
"""


def profiled(tmp_path, *command, **environment):
    path = tmp_path / "run.sbt"
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment}
    subprocess.run([ts.command_path(), "profile", "-o", path, "--", *command], env=variables, check=True,
                   capture_output=True, timeout=120)
    return ts.open(path)


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outside")
    return profiled(folder, sys.executable, "-c", PROGRAM, str(folder / "inner.sbt"))


def spans(trace, name):
    return trace.query(f"SELECT start_ns, end_ns, pid, tid, kind FROM range WHERE name = '{name}' ORDER BY start_ns")


def test_spans_are_in_the_trace(trace):
    (outer,), (inner,), (half,) = spans(trace, "outer"), spans(trace, "innér"), spans(trace, "half time")
    assert outer[0] <= inner[0] <= inner[1] <= half[0] <= outer[1]
    assert half[4] == "instant"
    called, (thread,) = spans(trace, "called"), spans(trace, "of a thread")
    assert len(called) == 2
    assert called[0][3] == outer[3] and called[1][3] == thread[3] != outer[3]
    assert len(spans(trace, "raises")) == 1
    assert {row[0] for row in trace.query("SELECT category FROM range")} == {"tracesmith"}
    assert [row[4] for row in spans(trace, "never ends")] == ["begin"]


def test_spans_that_cross(trace):
    (first,), (second,) = spans(trace, "first task"), spans(trace, "second task")
    assert first[0] < second[0] < first[1] < second[1]


def test_a_forked_child(trace):
    (child,), (outer,) = spans(trace, "child"), spans(trace, "outer")
    assert child[2] != outer[2]


def test_beside_a_profile_within(trace):
    assert len(spans(trace, "both")) == 1
    assert len(spans(ts.open(os.path.join(os.path.dirname(trace.path), "inner.sbt")), "both")) == 1


def test_a_library_that_is_none(tmp_path):
    """What the user has named there stays; if it is no recorder, nothing happens."""
    for named in ("/no/such/library.so", "libc.so.6"):
        trace = profiled(tmp_path, sys.executable, "-c", "import tracesmith as ts\nwith ts.annotate('x'): pass\nts.mark('y')",
                         NVTX_INJECTION64_PATH=named)
        assert len(trace.tables["range"]) == 0
