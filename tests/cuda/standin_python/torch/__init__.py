# SPDX-License-Identifier: Apache-2.0
"""What the programs of bench/gpu_check call PyTorch for, as kernels of the stand-in for libcuda: no
arithmetic, but a program of Python whose launches are known."""
import ctypes
import types

__version__ = "stand-in"
version = types.SimpleNamespace(cuda="stand-in")
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(benchmark=False))
float32 = "float32"

_driver = ctypes.CDLL("libcuda.so.1")
_module = ctypes.c_void_p()
_functions = {}


def _check(code):
    if code != 0:
        raise RuntimeError(f"CUDA error {code}")


def launch(name, grid=1, block=128):
    if not _module:
        context = ctypes.c_void_p()
        _check(_driver.cuInit(0))
        _check(_driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        _check(_driver.cuCtxSetCurrent(context))
        _check(_driver.cuModuleLoadData(ctypes.byref(_module), b".version 8.0\n"))
    if name not in _functions:
        _functions[name] = ctypes.c_void_p()
        _check(_driver.cuModuleGetFunction(ctypes.byref(_functions[name]), _module, name.encode()))
    _check(_driver.cuLaunchKernel(_functions[name], grid, 1, 1, block, 1, 1, 0, None, None, None))


class Tensor:
    def __sub__(self, other):
        launch("subtract")
        return self

    def __add__(self, other):
        return self

    def __mul__(self, other):
        return self

    def square(self):
        launch("square")
        return self

    def mean(self):
        launch("mean")
        return self

    def backward(self):
        for _ in range(8):
            launch("backward")

    def __float__(self):
        return 0.25


class Model:
    def __init__(self, *_, **__):
        pass

    def to(self, _):
        return self

    def parameters(self):
        return []

    def __call__(self, data):
        for _ in range(12):
            launch("forward")
        return data


class Adam:
    def __init__(self, *_, **__):
        pass

    def zero_grad(self, **_):
        launch("zero")

    def step(self):
        launch("adam")


def randn(*_, **__):
    launch("randn")
    return Tensor()


def arange(*_, **__):
    launch("arange")
    return Tensor()


def ones(*_, **__):
    launch("fill")
    return Tensor()


def empty_like(tensor):
    return tensor


def equal(_, __):
    return True


def manual_seed(_):
    pass


def _synchronize():
    _check(_driver.cuCtxSynchronize())


cuda = types.SimpleNamespace(is_available=lambda: True, synchronize=_synchronize)
nn = types.SimpleNamespace(TransformerEncoderLayer=Model, TransformerEncoder=Model)
optim = types.SimpleNamespace(Adam=Adam)
