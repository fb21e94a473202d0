# SPDX-License-Identifier: Apache-2.0
"""Computes on any available device, and measures times.

    dm = DeviceManager()                     # the best device; DeviceManager("opencl"): that one
    x, y = dm.randn(1000, 1000), dm.randn(1000, 1000)
    benchmark(lambda: x @ y, warmup=3, iterations=10, dm=dm)["median_ms"]

Devices: cuda (PyTorch, else CuPy), rocm and mps (PyTorch), opencl (opencl_device.py), cpu (NumPy). The best is
the first available of cuda, rocm and mps, else cpu. OpenCL is used only on request, because its device
may be the CPU. A missing device is replaced by the best one, and this is printed."""
import importlib.util
import math
import statistics
import sys
import time
import weakref
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).parent))  # when it is a module of a package

from opencl_device import OpenCLDevice, OpenCLError  # pylint: disable=wrong-import-position

DEVICES = ("cuda", "rocm", "mps", "opencl", "cpu")


class NoDevice(RuntimeError):
    """The reason why a kind of device is missing."""


def _torch():
    if importlib.util.find_spec("torch") is None:
        raise NoDevice("PyTorch is not installed")
    import torch  # pylint: disable=import-outside-toplevel

    return torch


class _Torch:
    """cuda, rocm or mps, through PyTorch."""

    def __init__(self, kind):
        self.torch = torch = _torch()
        if kind == "mps":
            if not torch.backends.mps.is_available():
                raise NoDevice("PyTorch has no MPS here")
        else:
            if not torch.cuda.is_available():
                raise NoDevice("PyTorch sees no GPU")
            if (torch.version.hip is not None) != (kind == "rocm"):
                raise NoDevice(f"this PyTorch is not for {kind}")
        self.place = "mps" if kind == "mps" else "cuda"
        self.memory = torch.mps if kind == "mps" else torch.cuda

    def name(self):
        if self.place == "mps":
            return "Apple GPU (mps)"
        total = self.torch.cuda.get_device_properties(0).total_memory
        return f"{self.torch.cuda.get_device_name(0)} (cuda:0, {total / 2**30:.1f} GB)"

    def make(self, values):
        return self.torch.as_tensor(values, device=self.place)

    def synchronize(self):
        self.memory.synchronize()

    def allocated(self):
        return self.memory.current_allocated_memory() if self.place == "mps" else self.memory.memory_allocated()


class _Cupy:
    def __init__(self):
        if importlib.util.find_spec("cupy") is None:
            raise NoDevice("neither PyTorch with CUDA nor CuPy is installed")
        import cupy  # pylint: disable=import-outside-toplevel

        try:
            if cupy.cuda.runtime.getDeviceCount() == 0:
                raise NoDevice("CuPy sees no GPU")
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise NoDevice(str(error)) from None
        self.cupy = cupy

    def name(self):
        found = self.cupy.cuda.runtime.getDeviceProperties(0)
        return f"{found['name'].decode()} (cuda:0, {found['totalGlobalMem'] / 2**30:.1f} GB)"

    def make(self, values):
        return self.cupy.asarray(values)

    def synchronize(self):
        self.cupy.cuda.Device().synchronize()

    def allocated(self):
        return self.cupy.get_default_memory_pool().used_bytes()


class _OpenCL:
    def __init__(self):
        try:
            self.device = OpenCLDevice()
        except OpenCLError as error:
            raise NoDevice(str(error)) from None

    def name(self):
        return f"{self.device.name} (opencl, {self.device.total_memory / 2**30:.1f} GB)"

    def make(self, values):
        return self.device.array(values)

    def synchronize(self):
        self.device.finish()

    def allocated(self):
        return self.device.allocated


class _Cpu:
    """Counts the bytes of the arrays that it created and that still exist."""

    def __init__(self):
        self._bytes = 0

    def name(self):
        return "processor (cpu, NumPy)"

    def make(self, values):
        made = values.copy()
        self._bytes += made.nbytes
        weakref.finalize(made, self._gone, made.nbytes)
        return made

    def _gone(self, size):
        self._bytes -= size

    def synchronize(self):
        """Nothing to wait for: NumPy's results are complete when it returns."""

    def allocated(self):
        return self._bytes


def _open(kind):
    if kind == "cuda":
        try:
            return _Torch("cuda")
        except NoDevice as error:
            if importlib.util.find_spec("cupy") is None:
                raise error
            return _Cupy()
    if kind in ("rocm", "mps"):
        return _Torch(kind)
    return _OpenCL() if kind == "opencl" else _Cpu()


def available_devices():
    """The usable kinds, best first; cpu is always among them. Loads their drivers."""
    found = []
    for kind in DEVICES:
        try:
            _open(kind)
            found.append(kind)
        except NoDevice:
            pass
    return found


class DeviceManager:
    """A device, and arrays of 32-bit floats on it, which support `+`, `*` and `@`.

    `prefer_device`: one of DEVICES; None: the best. `device`: the kind that is used. ValueError: no such
    kind."""

    def __init__(self, prefer_device=None, seed=0):
        if prefer_device is not None and prefer_device not in DEVICES:
            raise ValueError(f"no device is called '{prefer_device}'; one of: {', '.join(DEVICES)}")
        self._random = numpy.random.default_rng(seed)
        best = [kind for kind in DEVICES if kind not in ("opencl", prefer_device)]
        for kind in best if prefer_device is None else [prefer_device, *best]:
            try:
                self._backend, self.device = _open(kind), kind
                break
            except NoDevice as error:
                if kind == prefer_device:
                    print(f"there is no {kind} here ({error}): the best other device instead")

    def get_device_name(self):
        return self._backend.name()

    def tensor(self, values):
        """An array from a NumPy array, or from lists of numbers."""
        return self._backend.make(numpy.asarray(values, dtype=numpy.float32))

    def randn(self, *shape):
        """Normally distributed numbers, equal for equal seeds."""
        return self.tensor(self._random.standard_normal(shape))

    def zeros(self, *shape):
        return self.tensor(numpy.zeros(shape))

    def ones(self, *shape):
        return self.tensor(numpy.ones(shape))

    def synchronize(self):
        """Waits for all launched work."""
        self._backend.synchronize()

    def memory_allocated(self):
        """Bytes on the device, as counted by the framework; for cpu, those of this object's arrays."""
        return self._backend.allocated()


def quantile(values, share):
    """A quantile of sorted values, interpolated linearly between neighbours."""
    at = share * (len(values) - 1)
    low = math.floor(at)
    return values[low] + (values[min(low + 1, len(values) - 1)] - values[low]) * (at - low)


def benchmark(function, warmup=3, iterations=10, dm=None):
    """Measures calls of `function`, each including the device work that it launches (`dm`). Returns mean_ms,
    median_ms, p05_ms, p95_ms, min_ms, max_ms, stdev_ms, and `iterations`. `warmup` calls run before and are
    not timed."""
    if iterations < 1:
        raise ValueError("iterations: at least one")
    wait = dm.synchronize if dm is not None else lambda: None
    for _ in range(warmup):
        function()
    wait()
    times = []
    for _ in range(iterations):
        begin = time.perf_counter_ns()
        function()
        wait()
        times.append((time.perf_counter_ns() - begin) / 1e6)
    times.sort()
    return {
        "mean_ms": statistics.fmean(times),
        "median_ms": statistics.median(times),
        "p05_ms": quantile(times, 0.05),
        "p95_ms": quantile(times, 0.95),
        "min_ms": times[0],
        "max_ms": times[-1],
        "stdev_ms": statistics.stdev(times) if len(times) > 1 else 0.0,
        "iterations": len(times),
    }
