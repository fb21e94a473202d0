# SPDX-License-Identifier: Apache-2.0
"""Threads that share an object, each with methods of its own, and processes that are forked meanwhile."""
import signal
import threading
import time

import pytest
from running import in_threads, run_script

import tracesmith as ts


def events_of(thread, count):
    events = []
    for number in range(count):
        event = ts.TraceEvent(ts.EventType.KernelComplete, 1000 * number)
        event.name, event.correlation_id, event.duration = f"kernel {thread}", thread * count + number + 1, 500
        events.append(event)
    return events


def together(*works):
    """All at once, until they are over; what one of them raises is raised."""
    failures = []

    def work(number):
        try:
            works[number]()
        except BaseException as error:  # pylint: disable=broad-except
            failures.append(error)

    in_threads(len(works), work)
    if failures:
        raise failures[0]


def test_a_writer(tmp_path):
    """Each of its methods changes the same rows."""
    writer = ts.SBTWriter(tmp_path / "many.sbt")
    events = events_of(1, 300)
    counter = ts.CounterEvent()
    counter.counter_name, counter.value, counter.timestamp = "temperature", 60.5, 1000

    def again(work, times):
        return lambda: [work() for _ in range(times)]

    together(
        lambda: [writer.write_event(event) for event in events * 10],
        again(lambda: writer.write_events(events), 50),
        again(lambda: writer.write_counters([counter] * 100), 50),
        again(writer.flush, 200),
        again(lambda: (writer.event_count(), writer.file_size(), writer.is_open()), 500),
    )
    together(*[writer.finalize] * 4)
    reader = ts.SBTReader(tmp_path / "many.sbt")
    read = {}
    together(
        lambda: read.update(all=len(reader.read_all())),
        lambda: read.update(some=len(reader.read_events(5, 100))),
        lambda: read.update(counters=len(reader.read_counters())),
        lambda: read.update(count=reader.event_count()),
        lambda: read.update(name=reader.read_metadata().application_name),
    )
    assert read == {"all": 18000, "some": 100, "counters": 5000, "count": 18000, "name": ""}


def test_a_replay(simulated):
    engine = ts.ReplayEngine()
    engine.load_trace(simulated)
    whole = engine.replay().operations_total
    events = events_of(1, 200)
    counted = []
    together(
        lambda: [engine.load_events(events) for _ in range(10)],
        lambda: [engine.load_trace(simulated) for _ in range(5)],
        lambda: [counted.append(engine.replay().operations_total) for _ in range(10)],
        lambda: [engine.has_recording() for _ in range(100)],
    )
    assert set(counted) <= {whole, 200}


def test_a_session():
    """Stopped by several threads at once, while others start it and ask."""
    session = ts.TracingSession()
    event = events_of(1, 1)[0]

    def start():
        for _ in range(20):
            try:
                session.start()
            except ts.InvalidArgumentError:
                pass  # it runs already
            session.emit(event)

    together(start, *[lambda: [session.stop() for _ in range(20)]] * 3, lambda: [
        (session.get_events(), session.flush(), session.trace_path(), session.get_mode()) for _ in range(20)])
    session.stop()
    assert not session.is_active()


def test_a_profiler():
    profiler = ts.create_profiler(ts.PlatformType.Simulation)

    def work():
        for call in (profiler.initialize, profiler.start_capture, profiler.stop_capture, profiler.get_events,
                     profiler.finalize) * 5:
            try:
                call()
            except ts.Error:
                pass  # another thread was quicker

    together(*[work] * 4)
    profiler.finalize()
    assert profiler.initialize() and profiler.start_capture() and profiler.stop_capture()


def test_what_is_made_of_events():
    timelines, machine, builder = ts.TimelineBuilder(), ts.GPUStateMachine(), ts.InstructionStreamBuilder()
    works = []
    for thread in range(3):
        events = events_of(thread, 500)
        works += [
            lambda e=events: [timelines.add_event(event) for event in e] + [timelines.build()],
            lambda e=events: (timelines.add_events(e), timelines.build()),
            lambda e=events: [machine.process_event(event) for event in e] + [machine.get_statistics()],
            lambda e=events: (machine.process_events(e), machine.get_all_streams()),
            lambda e=events: ([builder.add_event(event) for event in e], builder.analyze(), builder.get_nodes()),
            lambda e=events: (builder.add_events(e), builder.analyze(), builder.get_dependencies()),
        ]
    together(*works)
    builder.analyze()
    assert len(timelines.build().spans) == 3000
    assert machine.get_statistics().total_events == 3000
    assert builder.get_statistics().total_operations == 3000


FORKED = """
import os, sys, threading, time
import tracesmith as ts

events = []
for number in range(100_000):
    event = ts.TraceEvent(ts.EventType.KernelComplete, 1000 * number)
    event.name, event.correlation_id, event.duration = "kernel", number + 1, 500
    events.append(event)
busy = threading.Event()
{make}

def work():
    while True:
        busy.set()
        {work}

threading.Thread(target=work, daemon=True).start()
busy.wait()
said = []
for attempt in range(60):
    time.sleep(0.01 * (attempt % 7))
    child = os.fork()
    if child == 0:
        began = time.monotonic()
        try:
            {ask}
            os._exit(1)
        except ts.UnsupportedError as error:
            os._exit(2 if "forked" in str(error) and time.monotonic() - began < 30 else 3)
        except BaseException:
            os._exit(4)
    said.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    if 2 in said and len(said) > 3:
        break
print(set(said) <= {{1, 2}} and 2 in said, said)
os._exit(0)
"""


@pytest.mark.parametrize("make, work, ask", [
    ("held = ts.TimelineBuilder(); held.add_events(events * 5)", "held.build()", "held.add_event(events[0])"),
    ("held = ts.SBTWriter('/dev/shm/forked-%d.sbt' % os.getpid()); os.unlink('/dev/shm/forked-%d.sbt' % os.getpid())",
     "held.write_events(events)", "held.event_count()"),
    ("held = ts.MemoryProfiler(); held.start(); [held.record_alloc(n + 1, 1) for n in range(200_000)]",
     "held.generate_report(); held.to_memory_events()", "held.record_alloc(7, 1)"),
], ids=["a timeline", "a writer", "memory"])
def test_a_child_that_is_forked_meanwhile(make, work, ask):
    """A thread that is not in the child has the object there for ever: that is said, and not waited for."""
    result = run_script(FORKED.format(make=make, work=work, ask=ask))
    assert result.stdout.startswith("True"), result.stdout + result.stderr


def test_a_signal_while_waiting_for_another_thread():
    """Its handler runs, though the object is another thread's for long."""
    builder = ts.TimelineBuilder()
    builder.add_events(events_of(1, 20_000) * 50)
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(time.monotonic()))
    try:
        threads = [threading.Thread(target=builder.build) for _ in range(8)]
        for thread in threads:
            thread.start()
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        builder.build()
        for thread in threads:
            thread.join()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(seen) == 1
