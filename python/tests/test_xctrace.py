# SPDX-License-Identifier: Apache-2.0
"""tracesmith.xctrace, over the stand-in for `xctrace` that tests the command: it checks how it is called."""
import argparse
import importlib.util
import os
import sys
from pathlib import Path

import pytest

import tracesmith as ts
from tracesmith.xctrace import XCTraceConfig, XCTraceProfiler, add_xctrace_arguments, profile_with_xctrace

CLI_TESTS = Path(__file__).parents[2] / "tests" / "cli"


@pytest.fixture
def xctrace(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(CLI_TESTS))
    spec = importlib.util.spec_from_file_location("profile_tools_test", CLI_TESTS / "profile_tools_test.py")
    tools = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tools)
    program = tmp_path / "tools" / "xctrace"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\n{tools.XCTRACE}", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("xctrace")
def test_a_program(tmp_path, monkeypatch, capfd):
    assert ts.is_xctrace_available() and XCTraceProfiler.is_available()
    profiler = XCTraceProfiler()
    assert profiler.get_events() == [] and profiler.get_trace_file() is None
    with pytest.raises(ts.InvalidArgumentError):
        profiler.export_perfetto("early.json")
    events = profiler.profile_command(["echo", "a  b"])
    assert capfd.readouterr().out == "a  b\n"
    assert profiler.exit_code == 0
    kernels = [e for e in events if e.type == ts.EventType.KernelComplete]
    assert [(e.name, e.timestamp, e.duration) for e in kernels] == [("softmax", 1000, 500), ("softmax", 2000, 500)]
    work = profiler.get_gpu_events()
    assert [(w.name, w.timestamp_ns, w.duration_ns, w.channel, w.process_id) for w in work] == [
        ("softmax", 1000, 500, "Compute", 42), ("softmax", 2000, 500, "Compute", 42)]
    assert work[0].to_trace_event().duration == 500
    (interval,) = profiler.get_driver_intervals()
    assert (interval.name, interval.start_ns, interval.duration_ns, interval.thread_id) == ("Submit", 900, 50, 7)
    assert interval.to_trace_event().thread_id == 7
    assert len(profiler.trace.kernels) == 2
    assert profiler.export_perfetto(tmp_path / "metal.json")
    assert (tmp_path / "metal.json").stat().st_size > 0
    assert os.path.isdir(profiler.get_trace_file())
    assert len(list((tmp_path / "traces").iterdir())) == 2
    profiler.cleanup()
    assert not list((tmp_path / "traces").iterdir())


@pytest.mark.usefixtures("xctrace")
def test_two_profilers_have_files_of_their_own(tmp_path):
    profilers = [XCTraceProfiler(), XCTraceProfiler()]
    for profiler in profilers:
        for _ in range(2):
            profiler.profile_command(["true"])
    first, second = ({path.stem for path in profiler._made} for profiler in profilers)
    assert len(first | second) == 4
    profilers[0].cleanup()
    left = {path.name for path in (tmp_path / "traces").iterdir()}
    assert left == {stem + end for stem in second for end in (".sbt", ".trace")}
    assert len(profilers[1].trace.kernels) == 2
    profilers[1].cleanup()
    assert not list((tmp_path / "traces").iterdir())


@pytest.mark.usefixtures("xctrace")
def test_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("LIMIT", "1500ms")
    monkeypatch.setenv("TEMPLATE", "GPU Driver")
    events, trace_file = profile_with_xctrace(["true"], 1.5, "GPU Driver", tmp_path / "run.sbt")
    assert len(events) == 4
    assert trace_file == str(tmp_path / "run.trace")
    assert sorted(os.listdir(tmp_path)) == ["calls", "run.sbt", "run.trace", "tools"]


@pytest.mark.usefixtures("xctrace")
def test_templates():
    assert XCTraceProfiler.list_templates() == ["Activity Monitor", "Metal System Trace", "My GPU work"]
    assert XCTraceProfiler.get_metal_templates() == ["Metal System Trace", "My GPU work"]


@pytest.mark.usefixtures("xctrace")
def test_what_goes_wrong(tmp_path):
    profiler = XCTraceProfiler(XCTraceConfig(template="none such"))
    with pytest.raises(ts.IoError):  # the stand-in knows another
        profiler.profile_command(["true"], output_file=tmp_path / "x.sbt")
    with pytest.raises(ts.NotFoundError):
        profiler.profile_command(["no-such-program"])
    for command, duration in (([], None), ("true", None), (["true"], 0)):
        with pytest.raises(ts.InvalidArgumentError):
            profiler.profile_command(command, duration)


def test_where_there_is_none(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert not ts.is_xctrace_available() and not XCTraceProfiler.is_available()
    with pytest.raises(ts.UnsupportedError, match="Xcode"):
        profile_with_xctrace(["true"])


def test_options():
    parser = argparse.ArgumentParser()
    add_xctrace_arguments(parser)
    options = parser.parse_args(["--xctrace", "--xctrace-template", "GPU Driver", "--xctrace-time-limit", "2"])
    assert (options.xctrace, options.xctrace_template, options.xctrace_time_limit) == (True, "GPU Driver", 2.0)
    assert not options.keep_trace
