# SPDX-License-Identifier: Apache-2.0
"""profile() and annotate(): what a Python program says of itself."""
import os
import pickle

import pytest
from running import in_threads, run_script

import tracesmith as ts


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
