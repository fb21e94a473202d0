# SPDX-License-Identifier: Apache-2.0
"""NCCLTracker without NCCL: its hooks are tested in C++ (cluster_tests) and by tests/nccl."""
import tracesmith as ts


def operation(kind, size=0, start=0):
    made = ts.NCCLOperation()
    made.op_type, made.data_size, made.start_time = kind, size, start
    return made


def test_operations_of_the_caller():
    config = ts.NCCLTrackerConfig()
    config.hook_enabled = False
    tracker = ts.NCCLTracker(config)
    assert tracker.start_capture() and tracker.is_capturing() and not tracker.is_hooked()
    first = tracker.record_operation_start(operation(ts.NCCLOpType.AllReduce, 100, 1000))
    tracker.record_operation_start(operation(ts.NCCLOpType.Send, 20))
    assert tracker.record_operation_end(first, 1500)
    assert not tracker.record_operation_end(first)
    assert not tracker.record_operation_end(99)
    assert [found.op_id for found in tracker.get_operations_by_type(ts.NCCLOpType.AllReduce)] == [first]
    assert tracker.get_operation(first).duration_ns == 500
    statistics = tracker.get_statistics()
    assert (statistics.total_operations, statistics.total_bytes_transferred, statistics.total_duration_ns) == (2, 120, 500)
    assert statistics.bytes_by_type[ts.NCCLOpType.Send] == 20
    kernel = ts.TraceEvent(ts.EventType.KernelComplete, 1100)
    kernel.name, kernel.duration, kernel.correlation_id = "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 300, 7
    assert tracker.correlate_with_gpu_events([kernel]) == 1
    assert len(tracker.to_trace_events()) == 3
    assert tracker.stop_capture()
    tracker.clear()
    assert tracker.get_operations() == []


def test_hooks_are_of_one_tracker_at_a_time():
    assert ts.is_nccl_available()
    first, second = ts.NCCLTracker(), ts.NCCLTracker()
    assert first.install_hooks() and first.is_hooked()
    assert not second.install_hooks()
    first.remove_hooks()
    assert second.install_hooks()
    second.remove_hooks()
