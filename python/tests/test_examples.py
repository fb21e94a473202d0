# SPDX-License-Identifier: Apache-2.0
"""What the Python examples offer to others: devices, and times that are true. That the examples run is
seen by tests/request (python examples/run_tests.py)."""
import sys
import time
from pathlib import Path

import numpy
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from examples.device_utils import DEVICES, DeviceManager, available_devices, benchmark, quantile  # noqa: E402


def test_the_best_device_without_an_accelerator():
    devices = available_devices()
    assert devices[-1] == "cpu" and set(devices) <= set(DEVICES)
    assert DeviceManager().device == next(kind for kind in devices if kind != "opencl")


def test_a_device_that_is_not_there_is_replaced_and_that_is_said(capsys):
    missing = [kind for kind in DEVICES if kind not in available_devices()]
    if not missing:
        pytest.skip("all kinds of devices are there")
    dm = DeviceManager(missing[0])
    assert dm.device in available_devices()
    assert f"there is no {missing[0]} here (" in capsys.readouterr().out
    with pytest.raises(ValueError, match="one of: cuda"):
        DeviceManager("gpu")


@pytest.mark.parametrize("kind", ["cpu", "opencl"])
def test_memory_is_counted_and_given_back(kind):
    if kind not in available_devices():
        pytest.skip(f"there is no {kind} here")
    dm = DeviceManager(kind)
    before = dm.memory_allocated()
    x = dm.randn(10, 100)
    y = dm.zeros(5)
    assert dm.memory_allocated() - before == 4 * 1005
    del x
    assert dm.memory_allocated() - before == 4 * 5
    del y
    assert dm.memory_allocated() == before


def test_opencl_computes():
    if "opencl" not in available_devices():
        pytest.skip("there is no OpenCL here")
    dm = DeviceManager("opencl")
    a = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    b = numpy.ones((3, 4), dtype=numpy.float32)
    assert (dm.tensor(a) @ dm.tensor(b)).tolist() == (a @ b).reshape(-1).tolist()
    with pytest.raises(ValueError, match="do not fit"):
        dm.tensor(a) @ dm.tensor(a)  # pylint: disable=expression-not-assigned
    with pytest.raises(ValueError, match="differ"):
        dm.tensor(a) + dm.tensor(b)  # pylint: disable=expression-not-assigned


def test_times_are_of_the_calls_after_the_warm_up():
    calls = []

    def sleepy():
        calls.append(None)
        time.sleep(0.2 if len(calls) <= 2 else 0.005)  # as a first call that compiles

    result = benchmark(sleepy, warmup=2, iterations=5)
    assert len(calls) == 7 and result["iterations"] == 5
    assert 5 <= result["min_ms"] <= result["p05_ms"] <= result["median_ms"] <= result["p95_ms"] <= result["max_ms"]
    assert result["median_ms"] < 150
    with pytest.raises(ValueError):
        benchmark(sleepy, iterations=0)


def test_work_that_is_launched_is_waited_for():
    waits = []

    class Device:
        def synchronize(self):
            waits.append(None)

    benchmark(lambda: None, warmup=1, iterations=3, dm=Device())
    assert len(waits) == 4


def test_quantiles():
    assert quantile([1.0, 2.0, 3.0], 0.5) == 2 and quantile([1.0, 3.0], 0.25) == 1.5 and quantile([7.0], 0.95) == 7
