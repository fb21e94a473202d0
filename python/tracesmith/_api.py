# SPDX-License-Identifier: Apache-2.0
"""Short functions for common tasks."""
from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from typing import Any, Union

from tracesmith import _core
from tracesmith._command import find_xctrace, offer_cupti
from tracesmith._core import (
    CounterEvent,
    MemoryEvent,
    MemoryProfiler,
    MemoryProfilerConfig,
    PlatformType,
    ReplayConfig,
    ReplayResult,
    Timeline,
    TraceEvent,
)
from tracesmith._errors import InvalidArgumentError, UnsupportedError
from tracesmith._trace import Trace

__all__ = [
    "build_timeline",
    "capture_trace",
    "create_profiler",
    "export_perfetto",
    "is_bpf_available",
    "is_cluster_available",
    "is_protobuf_available",
    "is_time_sync_available",
    "is_xctrace_available",
    "profile_memory",
    "replay_trace",
]

PathLike = Union[str, "os.PathLike[str]"]
EventsOrTrace = Union[Trace, Sequence[TraceEvent]]


def create_profiler(platform: PlatformType) -> _core.Profiler:
    """A profiler for this platform; its is_available() says whether this machine has such a device."""
    if platform == PlatformType.CUDA:
        offer_cupti()
    return _core.create_profiler(platform)


def capture_trace(
    duration_ms: float = 1000, platform: PlatformType | None = None, config: _core.ProfilerConfig | None = None
) -> list[TraceEvent]:
    """Captures the device work of this process for `duration_ms` milliseconds, and returns the events.

    This thread sleeps meanwhile; other threads do the work. `platform`: the platform to capture; None:
    that of this machine's devices. PlatformType.Simulation generates synthetic events, labelled so.
    UnsupportedError: the machine has no device, or it cannot be captured from within;
    `tracesmith profile -- program` captures other programs."""
    if not 0 <= duration_ms <= threading.TIMEOUT_MAX * 1000:
        raise InvalidArgumentError("must be a duration in ms, 0 or more", "duration_ms")
    if platform is None:
        platform = _core.detect_platform()
        if platform == PlatformType.Unknown:
            raise UnsupportedError(
                "this machine has no device that can be captured; PlatformType.Simulation generates synthetic events",
                "platform")
    profiler = create_profiler(platform)
    profiler.initialize(config or _core.ProfilerConfig())
    try:
        profiler.start_capture()
        time.sleep(duration_ms / 1000)
        profiler.stop_capture()
        return profiler.get_events()
    finally:
        profiler.finalize()


def build_timeline(events: EventsOrTrace) -> Timeline:
    """The timeline of device work, from events or from a trace. A trace is much faster."""
    if isinstance(events, Trace):
        return _core.timeline_of(events._file)
    builder = _core.TimelineBuilder()
    builder.add_events(list(events))
    return builder.build()


def export_perfetto(
    events: EventsOrTrace, path: PathLike, counters: Sequence[CounterEvent] = (), *, all_frames: bool = False
) -> bool:
    """Writes events, or a trace, for https://ui.perfetto.dev, and returns True. Failures raise an error.

    A path that ends in .json gets Chrome's JSON, any other Perfetto's protobuf. `counters`: exported
    beside events. A trace has its own counters and takes no others (InvalidArgumentError).
    `all_frames`: stacks include the frames of the interpreter, libffi and the loader."""
    if isinstance(events, Trace):
        if len(counters) > 0:
            raise InvalidArgumentError(
                "a trace is exported with its own counters; other counters can be given only with events", "counters")
        _core.export_trace(events._file, os.fsencode(path), all_frames)
        return True
    json = os.fspath(path).endswith(".json")
    exporter = _core.PerfettoProtoExporter(_core.PerfettoFormat.JSON if json else _core.PerfettoFormat.PROTOBUF)
    exporter.set_all_frames(all_frames)
    return exporter.export_to_file_with_counters(list(events), list(counters), path)


def replay_trace(events: EventsOrTrace | PathLike, config: ReplayConfig | None = None) -> ReplayResult:
    """Replays a recording, a trace or events (docs/replay.md).

    A recording (`profile --record`) is executed if there is a device. Without a device, and for traces
    and events, only the times are simulated, and the result says so. This process must not have loaded
    the device's driver before."""
    engine = _core.ReplayEngine()
    if isinstance(events, Trace):
        engine.load_trace(events.path)
    elif isinstance(events, (str, bytes, os.PathLike)):
        engine.load_trace(events)
    else:
        engine.load_events(list(events))
    return engine.replay(config or ReplayConfig())


def profile_memory(
    source: EventsOrTrace | Sequence[MemoryEvent] | PathLike, config: MemoryProfilerConfig | None = None
) -> MemoryProfiler:
    """The device memory of a trace, or of events in any order, as a MemoryProfiler. It is stopped at the
    last event. `profile_memory("run.sbt").generate_report()` has the peak, the leaks and more."""
    how = config or MemoryProfilerConfig()
    if isinstance(source, (str, bytes, os.PathLike)):
        source = Trace(source)
    if isinstance(source, Trace):
        return _core.memory_profiler_of(source._file, how)
    events: list[Any] = list(source)
    return _core.memory_profiler_of(events, how)


def is_protobuf_available() -> bool:
    """True: Perfetto's protobuf is written without a library."""
    return True


def is_xctrace_available() -> bool:
    """Whether this machine has Apple's `xctrace`. Its exports can be read on any system."""
    return find_xctrace() is not None


def is_bpf_available() -> bool:
    """False: TraceSmith does not trace with eBPF."""
    return False


def is_cluster_available() -> bool:
    """True: `MultiGPUProfiler`, `GPUTopology`, and traces of several hosts (`tracesmith merge`)."""
    return True


def is_time_sync_available() -> bool:
    """True: `TimeSync`, `tracesmith clock` and `profile --sync-with` compare clocks, with bounds."""
    return True
