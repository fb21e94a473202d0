# SPDX-License-Identifier: Apache-2.0
"""MemoryProfiler: told by a program, by events, and by traces."""
import json
import threading

import pytest

import tracesmith as ts


def event(time, ptr, size=0, device=0, name="pool"):
    made = ts.MemoryEvent()
    made.timestamp, made.ptr, made.bytes, made.device_id = time, ptr, size, device
    made.is_allocation, made.allocator_name = size > 0, name
    return made


def test_what_a_program_says():
    config = ts.MemoryProfilerConfig()
    config.leak_threshold_ns = 0
    profiler = ts.MemoryProfiler(config)
    assert not profiler.record_alloc(0x1000, 10)
    with profiler:
        assert profiler.is_active()
        assert profiler.record_alloc(0x1000, 100, device_id=1, allocator="pool", tag="weights")
        assert profiler.record_alloc(0x2000, 50)
        assert profiler.record_free(0x2000)
        assert not profiler.record_free(0x2000)
        assert profiler.get_current_usage() == profiler.get_current_usage(1) == 100
        assert profiler.get_peak_usage() == 150
        assert profiler.get_peak_usage(0) == 50
        assert profiler.get_live_allocation_count() == 1
        snapshot = profiler.take_snapshot()
        assert snapshot.device_usage == {0: 0, 1: 100}
        assert snapshot.allocator_usage == {"default": 0, "pool": 100}
    assert not profiler.is_active()
    (allocation,) = profiler.get_live_allocations()
    assert allocation.is_live() and allocation.lifetime_ns() > 0
    assert (allocation.ptr, allocation.size, allocation.tag) == (0x1000, 100, "weights")
    (leak,) = profiler.detect_leaks()
    assert leak.allocator == "pool" and leak.lifetime_ns == allocation.lifetime_ns()
    assert [e.is_allocation for e in profiler.to_memory_events()] == [True, True, False, False]
    report = profiler.generate_report()
    assert report.double_frees == 1
    assert report.allocator_stats["pool"].current_usage == 100
    assert json.loads(report.to_json())["potential_leaks"][0]["tag"] == "weights"
    assert "potential leaks  1, 100 B" in report.summary()
    profiler.clear()
    assert profiler.generate_report().total_allocations == 0


def test_events_in_any_order():
    report = ts.profile_memory([event(300, 0x10), event(100, 0x10, 64), event(200, 0x80, 32)]).generate_report()
    assert report.peak_memory_usage == 96 and report.peak_time == 200
    assert report.current_memory_usage == 32
    assert report.fragmentation.total_free_bytes == 64
    assert report.allocation_size_histogram == {32: 1, 64: 1}
    assert ts.profile_memory([]).generate_report().total_allocations == 0


def test_a_lifetime_ends_with_the_events():
    """Which may be of any day."""
    (allocation,) = ts.profile_memory([event(10**18, 0x10, 64), event(10**18 + 50, 0x80)]).get_live_allocations()
    assert allocation.is_live() and allocation.lifetime_ns() == 50


def test_trace_events():
    made = ts.TraceEvent(ts.EventType.MemAlloc, 5)
    made.memory_params = ts.MemoryParams()
    made.memory_params.dst_address, made.memory_params.size_bytes = 0x40, 1024
    profiler = ts.profile_memory([made, ts.TraceEvent(ts.EventType.Marker, 9)])
    assert profiler.get_current_usage() == 1024
    assert profiler.to_counter_events()[0].counter_name == "device memory"
    profiler.start()
    assert profiler.record_event(made) and profiler.record_event(event(1, 0x80, 1))
    assert not profiler.record_event(ts.TraceEvent(ts.EventType.Marker, 9))


def test_a_trace(simulated):
    report = ts.profile_memory(simulated).generate_report()
    with ts.open(simulated) as trace:
        count, size = trace.query("SELECT count(*), sum(bytes) FROM memory_event WHERE kind = 'alloc'")[0]
        assert (report.total_allocations, report.total_bytes_allocated) == (count, size)
        device = trace.analyze("memory")["memory"].rows[0]
        assert report.peak_memory_usage == device[5]
        assert report.current_memory_usage == device[7]
        assert ts.profile_memory(trace).generate_report().to_json() == report.to_json()
    listed = ts.profile_memory(ts.SBTReader(simulated).read_events()).generate_report()
    assert (listed.peak_memory_usage, listed.peak_time) == (report.peak_memory_usage, report.peak_time)
    assert {device: stats.peak_usage for device, stats in listed.device_stats.items()} == {
        device: stats.peak_usage for device, stats in report.device_stats.items()}
    assert max(s.live_bytes for s in report.timeline) == report.peak_memory_usage
    assert 1 < len(report.timeline) <= 1002
    config = ts.MemoryProfilerConfig()
    config.max_timeline_samples = 10
    assert 5 <= len(ts.profile_memory(simulated, config).generate_report().timeline) <= 10


def test_threads():
    profiler = ts.MemoryProfiler()
    profiler.start()

    def work(first):
        for i in range(500):
            profiler.record_alloc(first + i * 16, 16)
            profiler.record_free(first + i * 16)

    threads = [threading.Thread(target=work, args=((n + 1) << 20,)) for n in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        profiler.generate_report()
    report = profiler.generate_report()
    assert (report.total_allocations, report.total_frees, report.current_memory_usage) == (2000, 2000, 0)


def test_bad_input():
    with pytest.raises(TypeError):
        ts.profile_memory([1])
    with pytest.raises(ts.NotFoundError):
        ts.profile_memory("nowhere.sbt")
    with pytest.raises(TypeError):
        ts.MemoryProfiler().record_alloc(-1, 5)
