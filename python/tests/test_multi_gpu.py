# SPDX-License-Identifier: Apache-2.0
"""MultiGPUProfiler on the simulation. tests/cuda/cuda_multi_gpu_test.py has two devices and copies between them."""
import time

import pytest
import tracesmith as ts


@pytest.fixture(name="profiler")
def simulated():
    config = ts.MultiGPUConfig()
    config.platform = ts.PlatformType.Simulation
    config.capture_topology = False
    profiler = ts.MultiGPUProfiler(config)
    yield profiler
    profiler.finalize()


def test_events_by_gpu(profiler):
    assert ts.is_cluster_available() and ts._CLUSTER_AVAILABLE
    assert profiler.get_available_gpu_count() == 1
    assert profiler.initialize() and profiler.is_initialized()
    assert profiler.get_active_gpus() == [0]
    assert profiler.start_capture() and profiler.is_capturing()
    end = time.monotonic() + 60
    while profiler.total_events_captured() < 50 and time.monotonic() < end:
        time.sleep(0.01)
    assert profiler.stop_capture()
    stats = profiler.get_statistics()
    assert stats.total_events == profiler.events_from_gpu(0) == stats.events_per_gpu[0] >= 50
    assert (stats.total_dropped, stats.dropped_per_gpu, stats.nvlink_transfers) == (0, {0: 0}, 0)
    assert stats.capture_duration_ms > 0
    assert len(profiler.get_events(5)) == 5
    rest = profiler.get_events_from_gpu(0)
    assert len(rest) == stats.total_events - 5
    assert {event.device_id for event in rest} == {0}
    assert profiler.get_events_from_gpu(1) == []
    assert profiler.get_nvlink_transfers() == profiler.get_peer_accesses() == []


def test_what_is_known_of_gpus(profiler):
    profiler.initialize()
    assert [info.name for info in profiler.get_all_device_info()] == [profiler.get_device_info(0).name]
    assert profiler.get_device_info(1) is None
    assert profiler.get_topology().gpu_count == 0
    assert profiler.topology_gpu(0) is None
    assert profiler.remove_gpu(0) and profiler.get_active_gpus() == []
    assert profiler.add_gpu(0) and profiler.get_active_gpus() == [0]


def test_failures_have_their_reason(profiler):
    with pytest.raises(ts.InvalidArgumentError, match="not initialized"):
        profiler.start_capture()
    profiler.initialize()
    with pytest.raises(ts.InvalidArgumentError, match="already initialized"):
        profiler.initialize()
    with pytest.raises(ts.InvalidArgumentError, match="no Simulation device 3; this machine has 1"):
        profiler.add_gpu(3)
    config = ts.MultiGPUConfig()
    config.platform = ts.PlatformType.Simulation
    config.gpu_ids = [0, 9]
    with pytest.raises(ts.InvalidArgumentError, match="no Simulation device 9"):
        ts.MultiGPUProfiler(config).initialize()
