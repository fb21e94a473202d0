# SPDX-License-Identifier: Apache-2.0
"""A profiler that does nothing or, with STANDIN_TORCH_PROFILER=kineto, calls CUPTI in Kineto's order
(standin_kineto.cpp) and counts kernels."""
import ctypes
import os
import types

ProfilerActivity = types.SimpleNamespace(CPU=0, CUDA=1)


class profile:  # pylint: disable=invalid-name
    def __init__(self, **_):
        self.kernels = 0
        is_kineto = os.environ.get("STANDIN_TORCH_PROFILER") == "kineto"
        self.kineto = ctypes.CDLL("libtorch_cuda.so") if is_kineto else None

    def __enter__(self):
        if self.kineto:
            self.kineto.kinetoStart()
        return self

    def __exit__(self, *_):
        if self.kineto:
            self.kineto.kinetoStop.restype = ctypes.c_ulong
            self.kernels = self.kineto.kinetoStop()

    def events(self):
        return [types.SimpleNamespace(name="kernel", device_type="DeviceType.CUDA") for _ in range(self.kernels)]
