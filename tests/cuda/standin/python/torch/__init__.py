# SPDX-License-Identifier: Apache-2.0
"""What the programs of bench/gpu_check call PyTorch for, as kernels of the stand-in for libcuda: no
arithmetic, but a program of Python whose launches are known."""
import ctypes
import os
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

    def item(self):
        return 0.25


MIB = 1 << 20
_reserved = 0


class _Properties(ctypes.Structure):  # CUmemAllocationProp, of which the type and the place are set
    _fields_ = [("type", ctypes.c_int), ("handles", ctypes.c_int), ("place", ctypes.c_int),
                ("device", ctypes.c_int), ("meta", ctypes.c_void_p), ("flags", ctypes.c_uint64)]


def _reserve():
    """The memory that the allocator takes from the driver: pieces of an expandable segment, if it is told so."""
    global _reserved  # pylint: disable=global-statement
    launch("empty")
    address, handle, size = ctypes.c_uint64(), ctypes.c_uint64(), 20 * MIB
    if "expandable_segments:True" not in os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""):
        _check(_driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)))
        _reserved += size
        return
    how = _Properties(type=1, place=1)
    _check(_driver.cuMemAddressReserve(ctypes.byref(address), ctypes.c_size_t(10 * size), ctypes.c_size_t(0),
                                       ctypes.c_uint64(0), ctypes.c_uint64(0)))
    for piece in range(5):
        _check(_driver.cuMemCreate(ctypes.byref(handle), ctypes.c_size_t(size), ctypes.byref(how), ctypes.c_uint64(0)))
        _check(_driver.cuMemMap(ctypes.c_uint64(address.value + piece * size), ctypes.c_size_t(size),
                                ctypes.c_size_t(0), handle, ctypes.c_uint64(0)))
        _reserved += size


class Model:
    def __init__(self, *_, **__):
        pass

    def to(self, _):
        _reserve()
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


def _max_memory_reserved():
    return _reserved + int(os.environ.get("STANDIN_TORCH_RESERVED_MORE", "0"))


cuda = types.SimpleNamespace(is_available=lambda: True, synchronize=_synchronize,
                             max_memory_reserved=_max_memory_reserved)
nn = types.SimpleNamespace(TransformerEncoderLayer=Model, TransformerEncoder=Model)
optim = types.SimpleNamespace(Adam=Adam)
