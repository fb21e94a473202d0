# SPDX-License-Identifier: Apache-2.0
"""profile() and annotate(): what a Python program says of itself."""
import asyncio
import inspect
import os
import pickle
import threading
from pathlib import Path

import pytest
from running import in_threads, run_script

import tracesmith as ts

# As it was before a profiler of this process armed itself and its children.
ENVIRONMENT = dict(os.environ)


def counts(trace):
    return dict(trace.query("SELECT name, count(*) FROM range GROUP BY name"))


def test_ranges():
    with ts.profile(platform=ts.PlatformType.Unknown) as p:
        with ts.annotate("outer"):
            for _ in range(10):
                with ts.annotate("inner"):
                    pass
        ts.mark("here")
    assert counts(p.trace) == {"outer": 1, "inner": 10, "here": 1}
    rows = p.trace.query("SELECT i.start_ns >= o.start_ns AND i.end_ns <= o.end_ns FROM range i, range o "
                         "WHERE i.name = 'inner' AND o.name = 'outer'")
    assert [row[0] for row in rows] == [1] * 10


def test_a_decorator():
    @ts.annotate("factorial")
    def factorial(n):
        """Of n."""
        return 1 if n == 0 else n * factorial(n - 1)

    @ts.annotate("raises")
    def raises():
        raise KeyError("x")

    assert factorial(3) == 6  # while nothing is recorded
    with ts.profile(platform=ts.PlatformType.Unknown) as p:
        assert factorial(5) == 120
        with pytest.raises(KeyError):
            raises()
    assert counts(p.trace) == {"factorial": 6, "raises": 1}
    assert factorial.__name__ == "factorial" and factorial.__doc__ == "Of n."


def test_coroutines_and_generators():
    """Their ranges last as long as their bodies; those of one thread may overlap."""

    @ts.annotate("coroutine")
    async def coroutine(ms):
        await asyncio.sleep(ms / 1000)
        return ms

    @ts.annotate("generator")
    def generator():
        with ts.annotate("body"):
            got = yield 1
            yield got
        return "end"

    @ts.annotate("items")
    async def items():
        for i in range(3):
            await asyncio.sleep(0)
            try:
                got = yield i
                assert got in (None, "sent")
            except KeyError:
                yield "caught"

    assert inspect.iscoroutinefunction(coroutine) and inspect.isgeneratorfunction(generator)
    assert inspect.isasyncgenfunction(items)

    def delegating():
        end = yield from generator()
        assert end == "end"

    async def all_items():
        assert [item async for item in items()] == [0, 1, 2]
        some = items()
        assert await some.__anext__() == 0 and await some.asend("sent") == 1
        assert await some.athrow(KeyError("x")) == "caught"
        await some.aclose()
        with pytest.raises(ZeroDivisionError):
            failing = items()
            await failing.__anext__()
            await failing.athrow(ZeroDivisionError())
        return await asyncio.gather(coroutine(30), coroutine(60))

    with ts.profile(platform=ts.PlatformType.Unknown) as p:
        assert asyncio.run(all_items()) == [30, 60]
        one = delegating()
        assert next(one) == 1 and one.send(5) == 5
        assert list(one) == []
        first, second = generator(), generator()
        assert next(first) == next(second) == 1
        first.close()  # begun first, ended first
        second.close()
        generator()  # of which nothing is asked
    assert counts(p.trace) == {"coroutine": 2, "generator": 3, "body": 3, "items": 3}
    assert p.trace.query("SELECT min(duration_ns) > 29e6, max(duration_ns) > 59e6 FROM range WHERE name = 'coroutine'"
                         )[0] == (1, 1)
    outside = p.trace.query("SELECT count(*) FROM range b WHERE b.name = 'body' AND NOT EXISTS (SELECT 1 FROM range g "
                            "WHERE g.name = 'generator' AND b.start_ns BETWEEN g.start_ns AND g.end_ns)")
    assert outside[0][0] == 0
    # Two that overlap, neither within the other.
    assert p.trace.query("SELECT count(*) FROM range a JOIN range b ON a.start_ns < b.start_ns AND b.start_ns < a.end_ns "
                         "AND a.end_ns < b.end_ns WHERE a.name = 'generator' AND b.name = 'generator'")[0][0] == 1


def test_threads():
    @ts.annotate("work")
    def work():
        with ts.annotate("part"):
            pass

    def many(_):
        for _ in range(500):
            work()

    with ts.profile(platform=ts.PlatformType.Unknown) as p:
        in_threads(8, many)
    assert counts(p.trace) == {"work": 4000, "part": 4000}
    assert p.trace.query("SELECT count(DISTINCT thread_id) FROM range")[0][0] == 8


def test_in_a_file(tmp_path):
    path = tmp_path / "run.sbt"
    with ts.profile(path, platform=ts.PlatformType.Unknown) as p:
        with ts.annotate("step"):
            pass
        with pytest.raises(ts.InvalidArgumentError, match="after"):
            p.trace  # pylint: disable=pointless-statement
    assert counts(ts.open(path)) == {"step": 1}
    assert p.trace.path == str(path)


def test_one_at_a_time():
    with ts.profile(platform=ts.PlatformType.Unknown):
        with pytest.raises(ts.InvalidArgumentError, match="another"):
            ts.profile().start()
    with ts.profile(platform=ts.PlatformType.Unknown) as p:
        pass
    p.stop()
    assert len(p.trace.ranges) == 0


def test_one_of_many_threads_starts():
    """And an active one whose name is lost can be found, and ended."""
    barrier = threading.Barrier(8)
    refused = []

    def start(_):
        barrier.wait()
        try:
            ts.profile(platform=ts.PlatformType.Unknown).start()
        except ts.InvalidArgumentError as error:
            refused.append(error)

    for _ in range(20):
        refused.clear()
        assert ts.profile.active() is None
        in_threads(8, start)
        assert len(refused) == 7 and "profile.active().stop()" in str(refused[0])
        with ts.annotate("late"):
            pass
        found = ts.profile.active()
        in_threads(8, lambda _, found=found: found.stop())
        assert counts(found.trace) == {"late": 1}


def test_a_program_that_does_not_stop(tmp_path):
    path = tmp_path / "left.sbt"
    script = (
        "import tracesmith as ts\n"
        f"ts.profile({str(path)!r}, platform=ts.PlatformType.Simulation).start()\n"
        "import time\n"
        "with ts.annotate('all'): time.sleep(0.3)\n")
    result = run_script(script)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    with ts.open(path) as trace:
        assert trace.complete and counts(trace)["all"] == 1 and len(trace.kernels) > 0


def test_one_profile_twice():
    p = ts.profile(platform=ts.PlatformType.Unknown)
    traces = []
    for name in ("first", "second"):
        with p:
            with ts.annotate(name):
                pass
        traces.append(p.trace)
    assert [counts(trace) for trace in traces] == [{"first": 1}, {"second": 1}]
    with pytest.raises(TypeError, match="path"):
        pickle.dumps(traces[0])


def test_a_path_of_any_bytes(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.sbt"
    with ts.profile(path, platform=ts.PlatformType.Unknown) as p:
        with ts.annotate("x"):
            pass
    assert counts(p.trace) == counts(ts.open(path)) == {"x": 1}


def test_when_the_body_raises():
    with pytest.raises(ZeroDivisionError):
        with ts.profile(platform=ts.PlatformType.Unknown) as p:
            with ts.annotate("half"):
                1 / 0  # pylint: disable=expression-not-assigned,pointless-statement
    assert counts(p.trace) == {"half": 1}
    with ts.profile(platform=ts.PlatformType.Unknown):
        pass


def test_a_range_that_outlives_the_profile():
    annotation = ts.annotate("late")
    with ts.profile(platform=ts.PlatformType.Unknown) as p:
        annotation.__enter__()
    annotation.__exit__(None, None, None)
    assert counts(p.trace) == {}
    with ts.profile(platform=ts.PlatformType.Unknown) as p:
        with ts.annotate("\udcff"):  # which no file can hold
            pass
        with pytest.raises(TypeError):
            ts.annotate(3)


def test_forked_children(tmp_path):
    path = tmp_path / "fork.sbt"
    with ts.profile(path, platform=ts.PlatformType.Unknown):
        with ts.annotate("parent"):
            pass
        child = os.fork()
        if child == 0:
            with ts.annotate("child"):
                pass
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    assert counts(ts.open(path)) == {"parent": 1, "child": 1}


@pytest.mark.parametrize("platform", ["Simulation", "OpenCL"])
def test_a_forked_child_that_leaves_as_programs_do(tmp_path, platform):
    """By way of `with` and atexit: the device's profiler is the parent's."""
    if platform == "OpenCL" and not ts.is_opencl_available():
        pytest.skip("there is no OpenCL here")
    path = tmp_path / "fork.sbt"
    script = (
        "import os, sys, time, tracesmith as ts\n"
        f"with ts.profile({str(path)!r}, platform=ts.PlatformType.{platform}) as p:\n"
        "    time.sleep(0.1)\n"
        "    if os.fork() == 0:\n"
        "        with ts.annotate('child'): pass\n"
        "        sys.exit(0)\n"
        "    assert os.wait()[1] == 0\n"
        "    with ts.annotate('parent'): time.sleep(0.1)\n"
        "    if os.fork() == 0:\n"
        "        p.stop()\n"
        "        with ts.profile(platform=ts.PlatformType.Unknown) as own:\n"
        "            with ts.annotate('own'): pass\n"
        "        assert len(own.trace.ranges) == 1\n"
        "        sys.exit(0)\n"
        "    assert os.wait()[1] == 0\n"
        "    time.sleep(0.1)\n"
        "assert p.problem == '' and p.trace.complete\n")
    result = run_script(script, ENVIRONMENT)
    assert result.returncode == 0 and "Traceback" not in result.stderr, result.stderr  # of the child
    trace = ts.open(path)
    found = counts(trace)  # and what the simulation makes up
    assert (found["child"], found["parent"], found.get("own")) == (1, 1, None)
    if platform == "OpenCL":
        return  # of which this program does nothing
    first, last = trace.query("SELECT min(start_ns), max(start_ns) FROM kernel")[0]
    assert last - first > 200_000_000  # the parent's went on


class Failing:
    """A profiler that cannot end well: as CUDA's, where the user may not profile."""

    def __init__(self, platform):
        self._profiler = MAKE(platform)

    def __getattr__(self, name):
        return getattr(self._profiler, name)

    def stop_capture(self):
        self._profiler.stop_capture()
        raise ts.UnsupportedError("the user may not profile", "CUDA")


MAKE = ts.create_profiler


@pytest.fixture
def failing(monkeypatch):
    """Ours fails when it stops; what it has captured goes to the session."""
    feed = ts._core.DeviceFeed
    monkeypatch.setattr("tracesmith._profile.create_profiler", Failing)
    monkeypatch.setattr(ts._core, "DeviceFeed", lambda profiler, session: feed(profiler._profiler, session))
    monkeypatch.setattr(ts._core, "detect_platform", lambda: ts.PlatformType.Simulation)


@pytest.mark.usefixtures("failing")
def test_a_capture_that_ends_badly():
    work = threading.Event()
    with ts.profile() as p:
        work.wait(0.2)
    assert "may not profile" in p.problem and p.platform == ts.PlatformType.Simulation
    assert len(p.trace.kernels) > 0
    wanted = ts.profile(platform=ts.PlatformType.Simulation)
    with pytest.raises(ts.UnsupportedError, match="may not profile"):
        with wanted:
            work.wait(0.2)
    assert wanted.trace.complete and len(wanted.trace.kernels) > 0
    with pytest.raises(KeyError):  # the body's
        with wanted:
            raise KeyError("body")
    assert "may not profile" in wanted.problem
    with ts.profile(platform=ts.PlatformType.Unknown):  # nothing is left over
        pass


def test_fields_are_of_the_last_run(monkeypatch):
    monkeypatch.setattr(ts._core, "detect_platform", lambda: ts.PlatformType.MACA)
    p = ts.profile()
    with p:
        pass
    assert p.problem and p.platform == ts.PlatformType.Unknown
    monkeypatch.setattr(ts._core, "detect_platform", lambda: ts.PlatformType.Simulation)
    with p:
        pass
    assert p.problem == "" and p.platform == ts.PlatformType.Simulation


def test_more_than_the_buffer_holds(tmp_path):
    """It is emptied as the capture goes, and what it loses is in the trace."""
    path = tmp_path / "small.sbt"
    config = ts.ProfilerConfig()
    config.buffer_size = 2000
    with ts.profile(path, platform=ts.PlatformType.Simulation, config=config) as p:
        threading.Event().wait(1)
    events = sum(len(table) for table in (p.trace.kernels, p.trace.copies, p.trace.host_calls))
    assert events > config.buffer_size
    ((emitted, written, dropped),) = p.trace.query("SELECT emitted, written, dropped FROM loss WHERE source = 'device events'")
    assert emitted == written + dropped and written >= events - len(p.trace.host_calls)
    config.buffer_size = 1
    with ts.profile(platform=ts.PlatformType.Simulation, config=config) as p:
        threading.Event().wait(0.3)
    ((emitted, written, dropped, reason),) = p.trace.query(
        "SELECT emitted, written, dropped, reason FROM loss WHERE source = 'device events'")
    assert 0 < written < dropped and emitted == written + dropped
    assert reason == f"{dropped} found the profiler's buffer, or its rings, full"


def test_device_work_of_a_killed_program(tmp_path):
    """OpenCL on whatever is here, and what is made up: all but the last moments is in the file."""
    path = tmp_path / "killed.sbt"
    script = (
        "import os, signal, sys, time, tracesmith as ts\n"
        f"p = ts.profile({str(path)!r}, platform=ts.PlatformType.%s).start()\n"
        "%s"
        "time.sleep(1)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n")
    assert run_script(script % ("Simulation", "")).returncode == -9
    with ts.open(path) as trace:
        assert not trace.complete
        first, last = trace.query("SELECT min(start_ns), max(end_ns) FROM kernel")[0]
        assert last - first > 600_000_000
    if not ts.is_opencl_available():
        pytest.skip("there is no OpenCL here")
    work = (f"sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
            "from examples.device_utils import DeviceManager\n"
            "dm = DeviceManager('opencl')\n"
            "x = dm.randn(64, 64)\n"
            "for _ in range(50): x @ x\n"
            "dm.synchronize()\n")
    result = run_script(script % ("OpenCL", work), ENVIRONMENT)
    assert result.returncode == -9, result.stderr
    with ts.open(path) as trace:
        assert not trace.complete and len(trace.kernels) >= 50


def test_of_a_killed_program(tmp_path):
    path = tmp_path / "killed.sbt"
    script = (
        "import os, signal, time, tracesmith as ts\n"
        f"p = ts.profile({str(path)!r}, platform=ts.PlatformType.Unknown).start()\n"
        "with ts.annotate('done'): pass\n"
        "time.sleep(2)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n")
    assert run_script(script).returncode == -9
    with ts.open(path) as trace:
        assert not trace.complete and counts(trace) == {"done": 1}


def test_a_platform_that_is_not_here():
    with pytest.raises(ts.UnsupportedError):
        ts.profile(platform=ts.PlatformType.MACA).start()
    with ts.profile(platform=ts.PlatformType.Unknown):  # the failed one has left nothing behind
        pass
