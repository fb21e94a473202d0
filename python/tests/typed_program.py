# SPDX-License-Identifier: Apache-2.0
"""A program of a user who checks it with mypy --strict: what the package gives has the types it says."""
from __future__ import annotations

import sys

import tracesmith as ts


def events_of(path: str) -> list[ts.TraceEvent]:
    reader = ts.SBTReader(path)
    events: list[ts.TraceEvent] = reader.read_all()
    name: str = reader.read_metadata().application_name
    print(name, reader.event_count())
    return events


def write(path: str, events: list[ts.TraceEvent]) -> int:
    with ts.SBTWriter(path) as writer:
        for event in events:
            writer.write_event(event)
        written: int = writer.event_count()
    return written


@ts.annotate("double")
def double(number: int) -> int:
    return 2 * number


def record() -> int:
    with ts.profile(platform=ts.PlatformType.Unknown) as p:
        with ts.annotate("step") as step:
            label = str(step.name)
            doubled: int = double(len(label))
        ts.mark("half time")
    return doubled + len(p.trace.ranges)


def memory() -> int:
    with ts.MemoryProfiler() as pool:
        pool.record_alloc(0x7F0000000000, 1 << 20, device_id=0, allocator="pool", tag="weights")
    lifetimes: list[int] = [leak.lifetime_ns for leak in pool.detect_leaks()]
    return len(lifetimes) + pool.get_peak_usage()


def main(source: str, target: str) -> None:
    events = events_of(source)
    written = write(target, events)
    timeline: ts.Timeline = ts.build_timeline(events)
    utilization: float = timeline.gpu_utilization
    with ts.open(target) as trace:
        names: list[str] = list(trace.kernels.columns)
        rows = len(trace.query("SELECT name FROM kernel"))
        longest: int = int(trace.kernels.duration_ns.max())
        long = trace.kernels.filter(lambda kernel: kernel.duration_ns > longest // 2).sort("start_ns").head()
        texts: ts.Texts = long.name
        print(long.duration_ns.sum(), [row.duration_ns for row in trace.copies[:3]], texts.categories)
        report: ts.Report = trace.diff(target)
        print(report["diff"].rows)
    result: ts.ReplayResult = ts.replay_trace(events)
    try:
        ts.SBTReader("none.sbt").read_all()
    except ts.NotFoundError as error:
        print(error.where, error.message)
    print(written, utilization, names, rows, result.success, record(), memory())


if __name__ == "__main__":
    main(*sys.argv[1:])
