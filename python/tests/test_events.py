# SPDX-License-Identifier: Apache-2.0
"""Events, and what is made of them: files, timelines, states, dependencies, exports, replays."""
import json
import os
import shutil
import subprocess
import threading

import pytest
from running import in_threads

import tracesmith as ts


def kernel(number, start, duration, stream=1, name="gemm"):
    launch = ts.TraceEvent(ts.EventType.KernelLaunch, start - 500)
    launch.name, launch.correlation_id, launch.stream_id, launch.duration = "launch", number, stream, 100
    ran = ts.TraceEvent(ts.EventType.KernelComplete, start)
    ran.name, ran.correlation_id, ran.stream_id, ran.duration = name, number, stream, duration
    return [launch, ran]


@pytest.fixture
def events():
    return [event for n in range(10) for event in kernel(n + 1, 1_000_000 + n * 2000, 1000, 1 + n % 2)]


def test_names_that_are_not_utf8(tmp_path):
    """A program may give names any bytes, as here its own."""
    program = os.fsencode(tmp_path) + b"/b\xffd"
    shutil.copy("/bin/sleep", program)  # one that ends at once may have no name in the trace
    trace = tmp_path / "trace.sbt"
    command = [ts.command_path(), "profile", "-q", "-o", trace, "--", program, "0.2"]
    subprocess.run(command, check=True, capture_output=True)
    assert ts.SBTReader(trace).read_metadata().application_name == "b\ufffdd"


def test_an_event_is_changed_in_place():
    event = ts.TraceEvent()
    event.metadata["grid_dim"] = "256x256x1"
    event.metadata["x"] = "y"
    assert dict(event.metadata) == {"grid_dim": "256x256x1", "x": "y"}
    event.metadata = {"a": "b"}
    assert event.metadata["a"] == "b"
    event.kernel_params = ts.KernelParams()
    event.kernel_params.grid_x = 7
    assert event.kernel_params.grid_x == 7
    event.call_stack = ts.CallStack()
    event.call_stack.frames.append(ts.StackFrame(16, "main", "main.c", 3))
    assert event.call_stack.depth() == len(event.call_stack) == 1
    assert event.call_stack.frames[0].function_name == "main"
    frames = event.call_stack.frames
    event.call_stack = ts.CallStack()
    assert len(frames) == 0  # what was there is what is there
    with pytest.raises(TypeError):
        event.call_stack = None
    event.kernel_params = None
    assert event.kernel_params is None
    event.flow_info.type = ts.FlowType.FwdBwd
    assert event.flow_info.type == ts.FlowType.FwdBwd
    event.custom_data = b"\x00\xff"
    assert event.custom_data == b"\x00\xff"
    with pytest.raises(TypeError):
        event.timestamp = "now"
    with pytest.raises(TypeError):
        event.type = "KernelLaunch"


def test_types_have_their_names():
    for event_type in ts.EventType:
        assert ts.event_type_to_string(event_type) == event_type.name
    assert ts.platform_type_to_string(ts.PlatformType.ROCm) == "ROCm"


def test_a_file_gives_events_back(events, tmp_path):
    path = tmp_path / "events.sbt"
    metadata = ts.TraceMetadata()
    metadata.application_name = "test"
    device = ts.DeviceInfo()
    device.name = "device"
    writer = ts.SBTWriter(path)
    assert writer.is_open() and writer.write_metadata(metadata) and writer.write_device_info([device])
    assert writer.write_events(events) and writer.write_event(events[0])
    assert writer.event_count() == len(events) + 1
    assert writer.finalize()
    reader = ts.SBTReader(path)
    assert reader.is_valid() and reader.event_count() == len(events) + 1
    read = reader.read_all()
    assert sorted((e.timestamp, e.name) for e in read) == sorted((e.timestamp, e.name) for e in [*events, events[0]])
    assert reader.read_events(2, 3) == read[2:5]
    assert reader.read_metadata().application_name == "test"
    assert reader.read_metadata().devices[0].name == "device"
    with ts.open(path) as trace:
        assert len(trace.kernels) == 10 and set(trace.kernels.name) == {"gemm"}


def test_files_that_can_not_be(tmp_path):
    with pytest.raises(ts.NotFoundError) as caught:
        ts.SBTWriter(tmp_path / "none" / "x.sbt")
    assert caught.value.filename == str(tmp_path / "none" / "x.sbt") and str(caught.value).count("x.sbt") == 1
    reader = ts.SBTReader(tmp_path / "none.sbt")
    assert not reader.is_valid() and "none.sbt" in reader.last_error()
    for read in (reader.read_all, reader.read_events, reader.read_counters, reader.read_metadata):
        with pytest.raises(FileNotFoundError) as caught:
            read()
        assert caught.value.filename == str(tmp_path / "none.sbt") and str(caught.value).count("none.sbt") == 1
    (tmp_path / "text.sbt").write_text("words")
    with pytest.raises(ts.NotATraceError):
        ts.SBTReader(tmp_path / "text.sbt").read_events()
    with pytest.raises(TypeError):
        ts.SBTWriter(3.5)
    writer = ts.SBTWriter(tmp_path / "x.sbt")
    with pytest.raises(TypeError):
        writer.write_events([1, 2])
    writer.finalize()
    with pytest.raises(ts.InvalidArgumentError, match="finished"):
        writer.write_events([])


def test_what_the_system_refuses(events, tmp_path):
    """Is of one class, whatever was to be written."""
    for write in (lambda path: ts.SBTWriter(path).write_events(events), lambda path: ts.export_perfetto(events, path),
                  lambda path: ts.PerfettoExporter().export_to_file(events, path)):
        with pytest.raises(PermissionError) as caught:
            write("/proc/sys/kernel/osrelease")
        assert caught.value.filename == "/proc/sys/kernel/osrelease"
        with pytest.raises(ts.NotFoundError):
            write(tmp_path / "none" / "x.json")
    with pytest.raises(ts.NoSpaceError):
        ts.export_perfetto(events, "/dev/full")
    session = ts.TracingSession()
    config = ts.TracingConfig()
    config.output_file = tmp_path / "none" / "x.sbt"
    with pytest.raises(ts.NotFoundError):
        session.start(config)
    assert session.get_events() == []
    config.output_file = tmp_path / "session.sbt"
    session.start(config)
    session.stop()
    (tmp_path / "session.sbt").unlink()
    for read in (session.get_events, session.get_counters, lambda: session.export_to_file(tmp_path / "x.json")):
        with pytest.raises(ts.NotFoundError):
            read()


def test_timeline(events, simulated):
    timeline = ts.build_timeline(events)
    assert timeline.gpu_utilization == pytest.approx(10_000 / 19_000)
    assert timeline.total_duration == 19_000
    assert timeline.max_concurrent_ops == 1
    assert len(timeline.spans) == 10
    assert timeline.spans[0].name == "gemm"
    assert ts.build_timeline([]).gpu_utilization == 0
    with ts.open(simulated) as trace:
        of_trace = ts.build_timeline(trace)
        of_events = ts.build_timeline(ts.SBTReader(simulated).read_all())
        assert of_trace.gpu_utilization == pytest.approx(of_events.gpu_utilization)
        assert len(of_trace.spans) == len(of_events.spans)
    picture = ts.TimelineViewer().render(timeline)
    assert "stream" in picture
    config = ts.TimelineViewConfig()
    config.fill_char = "#"
    assert "#" in ts.TimelineViewer(config).render(timeline)
    with pytest.raises(ts.InvalidArgumentError):
        config.fill_char = "##"


def test_states(events):
    machine = ts.GPUStateMachine()
    machine.process_events(events)
    state = machine.get_stream_state(1)
    assert state.state_at(1_000_500) == ts.GPUState.Running
    assert state.time_in_states()[ts.GPUState.Running] == 5000
    assert machine.get_stream_state(99) is None
    assert machine.get_statistics().total_events == len(events)
    assert {history.stream_id for history in machine.export_history()} == {1, 2}


def test_dependencies(events):
    builder = ts.InstructionStreamBuilder()
    builder.add_events(events)
    builder.analyze()
    assert builder.has_dependency(1, 3) and not builder.has_dependency(3, 1)
    assert builder.get_statistics().kernel_launches == 10
    assert sorted(builder.get_execution_order()) == list(range(1, 11))
    assert builder.export_to_dot().startswith("digraph")


def test_exports(events, simulated, tmp_path):
    assert ts.export_perfetto(events, tmp_path / "x.json") is True
    names = [event.get("name") for event in json.loads((tmp_path / "x.json").read_text())["traceEvents"]]
    assert names.count("gemm") == 10
    counter = ts.CounterEvent()
    counter.counter_name, counter.value, counter.timestamp = "temperature", 60.5, 1_000_000
    ts.export_perfetto(events, tmp_path / "c.json", [counter])
    assert "temperature" in (tmp_path / "c.json").read_text()
    ts.export_perfetto(events, tmp_path / "x.pftrace")
    with ts.open(tmp_path / "x.pftrace") as trace:
        assert len(trace.kernels) == 10
    with ts.open(simulated) as trace:
        ts.export_perfetto(trace, tmp_path / "s.pftrace")
        with ts.open(tmp_path / "s.pftrace") as again:
            assert len(again.kernels) == len(trace.kernels)
        with pytest.raises(ts.InvalidArgumentError, match="counters"):  # they would be left out
            ts.export_perfetto(trace, tmp_path / "more.json", [counter])
    assert "gemm" in ts.PerfettoExporter().export_to_string(events)


def test_stacks_are_without_the_interpreters_frames(tmp_path):
    event = ts.TraceEvent(ts.EventType.KernelLaunch, 1000)
    event.duration = 50
    event.name = "clEnqueueNDRangeKernel"
    stack = ts.CallStack()
    for frame in (ts.StackFrame(0x7F10, "ffi_call_unix64", module="/usr/lib/libffi.so.8"),
                  ts.StackFrame(0x4110, "cfunction_call", module="/usr/bin/python3.11"),
                  ts.StackFrame(0, "forward", "model.py", 7, module="Python")):
        stack.frames.append(frame)
    assert stack.frames[0].module == "/usr/lib/libffi.so.8"
    event.call_stack = stack
    for name in ("x.json", "x.pftrace"):
        for all_frames in (False, True):
            ts.export_perfetto([event], tmp_path / name, all_frames=all_frames)
            written = (tmp_path / name).read_bytes()
            assert b"forward" in written
            assert (b"ffi_call_unix64" in written) == (b"cfunction_call" in written) == all_frames
    writer = ts.SBTWriter(tmp_path / "x.sbt")
    assert writer.write_event(event) and writer.finalize()
    assert ts.SBTReader(tmp_path / "x.sbt").read_events()[0].call_stack.frames[0].module == "/usr/lib/libffi.so.8"
    with ts.open(tmp_path / "x.sbt") as trace:
        for all_frames in (False, True):
            ts.export_perfetto(trace, tmp_path / "t.json", all_frames=all_frames)
            assert ("ffi_call_unix64" in (tmp_path / "t.json").read_text()) == all_frames
    exporter = ts.PerfettoExporter()
    assert "ffi_call_unix64" not in exporter.export_to_string([event])
    exporter.set_all_frames(True)
    assert "ffi_call_unix64" in exporter.export_to_string([event])
    config = ts.TracingConfig()
    assert not config.all_frames
    config.all_frames = True
    assert config.all_frames


def test_replay_says_that_it_is_simulated(events, simulated):
    result = ts.replay_trace(events)
    assert result.success and result.simulated and not result.deterministic
    assert result.operations_simulated == result.operations_total > 0
    assert "simulated" in result.summary()
    config = ts.ReplayConfig()
    config.mode = ts.ReplayMode.DryRun
    assert ts.replay_trace(str(simulated), config).operations_skipped > 0
    with pytest.raises(ts.InvalidArgumentError):
        ts.replay_trace([])
    with pytest.raises(ts.NotFoundError):
        ts.replay_trace("none.sbt")


def test_session(tmp_path):
    config = ts.TracingConfig()
    config.buffer_size_kb = 8192
    config.enable_counter_tracks = True
    session = ts.TracingSession()
    assert session.start(config)
    with pytest.raises(ts.Error):
        session.start(config)
    event = ts.TraceEvent()
    event.type = ts.EventType.KernelLaunch
    event.name = "my_kernel"
    event.thread_id = 12345
    event.metadata["grid_dim"] = "256x256x1"
    assert session.emit(event)
    assert session.emit_counter("GPU Memory (MB)", 1024.5)
    in_threads(4, lambda _: [session.emit(event) for _ in range(100)])
    session.stop()
    assert session.export_to_file(tmp_path / "realtime_trace.perfetto-trace")
    statistics = session.get_statistics()
    assert statistics.events_emitted == 401 and statistics.events_dropped == 0
    assert statistics.duration_ms() > 0
    read = session.get_events()
    assert len(read) == 401 and read[0].metadata["grid_dim"] == "256x256x1" and read[0].thread_id == 12345
    assert session.get_counters()[0].value == 1024.5


def test_simulated_capture():
    events = ts.capture_trace(duration_ms=100, platform=ts.PlatformType.Simulation)
    assert events and ts.build_timeline(events).gpu_utilization > 0


def test_platforms_that_are_not_here():
    for platform in (ts.PlatformType.Metal, ts.PlatformType.MACA, ts.PlatformType.Ascend):
        profiler = ts.create_profiler(platform)
        assert not profiler.is_available()
        with pytest.raises(ts.UnsupportedError, match=platform.name):
            profiler.initialize()
        with pytest.raises(ts.UnsupportedError):
            ts.capture_trace(1, platform)
        with pytest.raises(ts.UnsupportedError):
            profiler.start_capture()
    assert isinstance(ts.is_cuda_available(), bool)
    assert ts.get_cuda_device_count() >= 0


def test_profilers_that_are_misused():
    for platform in (ts.PlatformType.Simulation, ts.PlatformType.OpenCL):
        profiler = ts.create_profiler(platform)
        for call, says in ((profiler.start_capture, "not initialized"), (profiler.stop_capture, "not capturing")):
            with pytest.raises(ts.InvalidArgumentError, match=says) as caught:
                call()
            assert caught.value.where == platform.name
    config = ts.ProfilerConfig()
    config.buffer_size = 0
    with pytest.raises(ts.InvalidArgumentError, match="buffer_size"):
        profiler.initialize(config)
    profiler = ts.create_profiler(ts.PlatformType.Simulation)
    profiler.initialize()
    with pytest.raises(ts.InvalidArgumentError, match="already initialized"):
        profiler.initialize()


def test_stack_capture():
    capture = ts.StackCapture()
    stack = capture.capture()
    assert stack.depth() > 3
    assert any(frame.function_name for frame in stack.frames)
    assert any("python" in frame.module for frame in stack.frames)
    assert ts.StackCapture.get_current_thread_id() == threading.get_native_id()


def test_xray(tmp_path):
    (tmp_path / "log").write_bytes(b"no log")
    with pytest.raises(ts.NotATraceError):
        ts.XRayImporter().import_file(tmp_path / "log")
    with pytest.raises(ts.NotATraceError):
        ts.XRayImporter().import_buffer(b"no log")
    with pytest.raises(ts.NotFoundError) as caught:
        ts.XRayImporter().import_file(tmp_path / "none")
    assert caught.value.filename == str(tmp_path / "none") and str(caught.value).count("none") == 1


def test_threads_on_one_file(events, tmp_path):
    writer = ts.SBTWriter(tmp_path / "many.sbt")
    in_threads(4, lambda _: [writer.write_events(events) for _ in range(50)])
    writer.finalize()
    reader = ts.SBTReader(tmp_path / "many.sbt")
    counted = []
    in_threads(4, lambda _: counted.append(len(reader.read_all())))
    assert counted == [200 * len(events)] * 4


def test_units():
    assert ts.format_bytes(1024) == "1.00 KiB"
    assert ts.format_duration(1_500_000) == "1.50 ms"
    assert ts.get_current_timestamp() > 0
    assert ts.is_protobuf_available()
