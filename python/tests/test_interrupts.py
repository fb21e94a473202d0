# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends what takes long, and other threads go on meanwhile."""
import functools
import os
import signal
import struct
import threading
import time

import pytest

import tracesmith as ts

MANY = 60_000
LONG = 0.4  # s


@pytest.fixture(scope="module")
def events():
    """Kernels of four streams with their launches, and memory that is allocated and released."""
    made = []
    for number in range(MANY // 3):
        for kind, start, duration in ((ts.EventType.KernelLaunch, 0, 100), (ts.EventType.KernelComplete, 500, 400),
                                      (ts.EventType.MemFree if number % 2 else ts.EventType.MemAlloc, 950, 0)):
            event = ts.TraceEvent(kind, 1000 + 1000 * number + start)
            event.name, event.correlation_id, event.stream_id, event.duration = "gemm", number + 1, number % 4, duration
            if duration == 0:
                event.memory_params = ts.MemoryParams()
                event.memory_params.dst_address, event.memory_params.size_bytes = 64 + number // 2 * 64, 64
            made.append(event)
    return made


@pytest.fixture(scope="module")
def trace_of(events, tmp_path_factory):
    """The path of a trace with the events so many times."""
    folder = tmp_path_factory.mktemp("interrupts")

    @functools.cache
    def made(size):
        with ts.SBTWriter(folder / f"{size}.sbt") as writer:
            for _ in range(size):
                writer.write_events(events)
        return folder / f"{size}.sbt"

    return made


@pytest.fixture(scope="module")
def session_of(events):
    """A session that is over, with the events so many times."""

    @functools.cache
    def made(size):
        session, config = ts.TracingSession(), ts.TracingConfig()
        config.buffer_size_kb = 65536
        session.start(config)
        for _ in range(size):
            for event in events:
                session.emit(event)
        session.stop()
        return session

    return made


def xray_log(calls):
    """As LLVM's basic mode writes it: a header, and 32 bytes for each entry and exit."""
    header = struct.pack("<HHIQ16x", 3, 0, 3, 1_000_000_000)
    record = struct.Struct("<HBBiQIII4x")
    return header + b"".join(record.pack(0, 0, kind, 1, 1000 + 20 * n + 10 * kind, 7, 7, 0)[:32]
                             for n in range(calls) for kind in (0, 1))


def pressing_after(seconds, work):
    """How long work() took, and whether Ctrl-C, pressed then, ended it."""
    ended = threading.Event()

    def press():
        if not ended.wait(seconds):
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    interrupted = False
    began = time.monotonic()
    try:
        thread.start()
        work()
        took = time.monotonic() - began
        ended.set()
        thread.join()
    except KeyboardInterrupt:
        took = time.monotonic() - began
        interrupted = True
    thread.join()
    return took, interrupted


def ends_early(prepare):
    """Whether Ctrl-C in the middle of what prepare(size) gives ends it long before it would be over. Who only
    heard it afterwards would take as long as ever; a machine that is busy with other things gets more tries.
    Signals are asked for 20 times a second: `size` grows until the work takes many times that."""
    said = []
    size = 1
    for _ in range(5):
        while (whole := pressing_after(600, prepare(size))[0]) < LONG and size < 256:
            size *= 2
        took, interrupted = pressing_after(whole / 4, prepare(size))
        said.append((size, round(whole, 3), round(took, 3), interrupted))
        if interrupted and took < whole * 0.75:
            return True
    print(said)
    return False


def test_what_is_made_of_events(events):
    def instructions(size):
        builder = ts.InstructionStreamBuilder()
        for _ in range(size):
            builder.add_events(events)
        return builder.analyze

    def states(size):
        machine = ts.GPUStateMachine()
        for _ in range(size):
            machine.process_events(events)
        return machine.get_statistics

    def timelines(size):
        builder = ts.TimelineBuilder()
        for _ in range(size):
            builder.add_events(events)
        return builder.build

    assert ends_early(instructions)
    assert ends_early(states)
    assert ends_early(timelines)


def test_files(trace_of, tmp_path):
    @functools.cache
    def opened(size):
        trace = ts.open(trace_of(size))
        trace.query("SELECT 1")  # reads all
        return trace

    assert ends_early(lambda size: ts.SBTReader(trace_of(size)).read_all)
    assert ends_early(lambda size: ts.SBTReader(trace_of(size)).read_events)
    for name in ("x.json", "x.pftrace"):
        assert ends_early(lambda size, to=name: functools.partial(ts.export_perfetto, opened(size), tmp_path / to))
    assert ends_early(lambda size: functools.partial(ts.profile_memory, opened(size)))


def test_verbs(trace_of, tmp_path):
    @functools.cache
    def opened(size):
        trace = ts.open(trace_of(size))
        trace.query("SELECT 1")  # reads all
        return trace

    assert ends_early(lambda size: functools.partial(opened(size).export, tmp_path / "x.json"))


def test_sessions(session_of, tmp_path):
    assert ends_early(lambda size: session_of(size).get_events)
    assert ends_early(lambda size: functools.partial(session_of(size).export_to_file, tmp_path / "x.json"))


def test_logs_of_xray(tmp_path):
    calls = 50_000

    @functools.cache
    def log_of(size):
        return xray_log(calls * size)

    @functools.cache
    def path_of(size):
        path = tmp_path / str(size)
        path.write_bytes(log_of(size))
        return path

    assert len(ts.XRayImporter().import_buffer(log_of(1))) == calls
    assert ends_early(lambda size: functools.partial(ts.XRayImporter().import_buffer, log_of(size)))
    assert ends_early(lambda size: functools.partial(ts.XRayImporter().import_file, path_of(size)))


def test_a_replay(events):
    def loaded(size):
        engine = ts.ReplayEngine()
        engine.load_events(events * size)
        return engine.replay

    assert ends_early(loaded)


def test_other_threads_go_on(events):
    """Their steps are all over the time that a call takes: who held the GIL would show none in it."""
    timelines, machine, builder = ts.TimelineBuilder(), ts.GPUStateMachine(), ts.InstructionStreamBuilder()
    for _ in range(16):
        timelines.add_events(events)
    for _ in range(3):
        machine.process_events(events)
        builder.add_events(events)
    log = xray_log(100_000)
    importer = ts.XRayImporter()
    for work in (timelines.build, machine.get_statistics, builder.analyze, lambda: importer.import_buffer(log)):
        over = threading.Event()
        steps = []

        def count():
            while not over.wait(0.001):
                steps.append(time.monotonic())

        thread = threading.Thread(target=count)
        thread.start()
        began = time.monotonic()
        work()
        ended = time.monotonic()
        over.set()
        thread.join()
        within = [at for at in steps if began < at < ended]
        assert len(within) > 5 and within[-1] - within[0] > (ended - began) / 3, (work, ended - began, within)
