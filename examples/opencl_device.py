# SPDX-License-Identifier: Apache-2.0
"""Arrays of 32-bit floats on an OpenCL device, using only Python and the system's libOpenCL.so.1.

    device = OpenCLDevice()
    a = device.array([1, 2, 3, 4], (2, 2))
    (a @ a).tolist()

The first OpenCLDevice loads the driver, not the import. To profile this process, start the profiler before
that."""
import array
import ctypes

_SOURCE = b"""
kernel void add(global const float* a, global const float* b, global float* c) {
  size_t i = get_global_id(0);
  c[i] = a[i] + b[i];
}
kernel void multiply(global const float* a, global const float* b, global float* c) {
  size_t i = get_global_id(0);
  c[i] = a[i] * b[i];
}
kernel void relu(global const float* a, global float* c) {
  size_t i = get_global_id(0);
  c[i] = fmax(a[i], 0.0f);
}
kernel void matmul(global const float* a, global const float* b, global float* c, uint inner, uint columns) {
  size_t row = get_global_id(1), column = get_global_id(0);
  float sum = 0.0f;
  for (uint i = 0; i < inner; ++i) sum += a[row * inner + i] * b[i * columns + column];
  c[row * columns + column] = sum;
}
"""
_HANDLE, _UINT, _SIZE = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_size_t
_GPU, _ANY, _NAME, _GLOBAL_MEMORY = 1 << 2, 0xFFFFFFFF, 0x102B, 0x101F
# Functions that return a handle have the error code as last argument; others return the code.
_MAKERS = {
    "clCreateContext": 6, "clCreateCommandQueue": 4, "clCreateProgramWithSource": 5, "clCreateKernel": 3,
    "clCreateBuffer": 5,
}


class OpenCLError(RuntimeError):
    """A call failed. Has its name and the error code, which CL/cl.h explains."""


class _Library:
    def __init__(self):
        try:
            self._library = ctypes.CDLL("libOpenCL.so.1")
        except OSError as error:
            raise OpenCLError(f"{error}; on Debian: apt install ocl-icd-libopencl1 pocl-opencl-icd") from None
        for name in _MAKERS:
            getattr(self._library, name).restype = _HANDLE

    def __call__(self, name, *arguments):
        code = ctypes.c_int32()
        function = getattr(self._library, name)
        if name in _MAKERS:
            result = function(*arguments, ctypes.byref(code))
        else:
            result, code.value = None, function(*arguments)
        if code.value != 0:
            raise OpenCLError(f"{name} failed with {code.value}")
        return result


class OpenCLDevice:
    """The first GPU of any driver, else the first device. OpenCLError: there is none. `name`; `is_gpu`;
    `total_memory` and `allocated` in bytes. Its objects live as long as the device."""

    def __init__(self):
        self._call = _Library()
        device, platform = self._pick()
        text = ctypes.create_string_buffer(1024)
        self._call("clGetDeviceInfo", device, _NAME, _SIZE(len(text)), text, None)
        self.name = text.value.decode(errors="replace")
        memory = ctypes.c_uint64()
        self._call("clGetDeviceInfo", device, _GLOBAL_MEMORY, _SIZE(8), ctypes.byref(memory), None)
        self.total_memory = memory.value
        self.allocated = 0
        properties = (_HANDLE * 3)(0x1084, platform, None)
        devices = (_HANDLE * 1)(device)
        self._context = _HANDLE(self._call("clCreateContext", properties, 1, devices, None, None))
        self._queue = _HANDLE(self._call("clCreateCommandQueue", self._context, device, ctypes.c_uint64(0)))
        source = (ctypes.c_char_p * 1)(_SOURCE)
        program = _HANDLE(self._call("clCreateProgramWithSource", self._context, 1, source, None))
        self._call("clBuildProgram", program, 1, devices, b"", None, None)
        self._kernels = {name: _HANDLE(self._call("clCreateKernel", program, name.encode()))
                         for name in ("add", "multiply", "relu", "matmul")}

    def _pick(self):
        count = _UINT()
        self._call("clGetPlatformIDs", 0, None, ctypes.byref(count))
        platforms = (_HANDLE * count.value)()
        self._call("clGetPlatformIDs", count, platforms, None)
        for kind in (_GPU, _ANY):
            for platform in platforms:
                device = _HANDLE()
                try:
                    self._call("clGetDeviceIDs", _HANDLE(platform), ctypes.c_uint64(kind), 1, ctypes.byref(device),
                               None)
                except OpenCLError:
                    continue  # no device of this kind
                self.is_gpu = kind == _GPU
                return device, platform
        raise OpenCLError("no driver has a device")

    def array(self, values, shape=None):
        """A copy of `values` (numbers, or a NumPy array) on the device."""
        shape = tuple(shape or getattr(values, "shape", None) or (len(values),))
        data = values.astype("float32").tobytes() if hasattr(values, "astype") else array.array("f", values).tobytes()
        made = OpenCLArray(self, shape)
        if len(data) != made.nbytes:
            raise ValueError(f"{len(data) // 4} values do not make an array of {shape}")
        self._call("clEnqueueWriteBuffer", self._queue, made.buffer, _UINT(1), _SIZE(0), _SIZE(len(data)), data, 0,
                   None, None)
        return made

    def allocate(self, size):
        buffer = _HANDLE(self._call("clCreateBuffer", self._context, ctypes.c_uint64(1), _SIZE(size), None))
        self.allocated += size
        return buffer

    def release(self, buffer, size):
        self._call("clReleaseMemObject", buffer)
        self.allocated -= size

    def read(self, buffer, size):
        data = ctypes.create_string_buffer(size)
        self._call("clEnqueueReadBuffer", self._queue, buffer, _UINT(1), _SIZE(0), _SIZE(size), data, 0, None, None)
        return data.raw

    def launch(self, name, grid, *arguments):
        kernel = self._kernels[name]
        for index, argument in enumerate(arguments):
            value = argument.buffer if isinstance(argument, OpenCLArray) else _UINT(argument)
            self._call("clSetKernelArg", kernel, index, _SIZE(ctypes.sizeof(value)), ctypes.byref(value))
        self._call("clEnqueueNDRangeKernel", self._queue, kernel, len(grid), None, (_SIZE * len(grid))(*grid), None, 0,
                   None, None)

    def finish(self):
        """Waits for all launched work."""
        self._call("clFinish", self._queue)


class OpenCLArray:
    """Floats on the device, in row order. Operations are launched but not waited for."""

    def __init__(self, device, shape):
        self.device, self.shape, self.nbytes = device, shape, 4
        for extent in shape:
            self.nbytes *= extent
        self.buffer = device.allocate(self.nbytes)

    def __del__(self):
        if getattr(self, "buffer", None) is not None:
            self.device.release(self.buffer, self.nbytes)

    def _each(self, kernel, *others):
        for other in others:
            if other.shape != self.shape:
                raise ValueError(f"shapes {self.shape} and {other.shape} differ")
        made = OpenCLArray(self.device, self.shape)
        self.device.launch(kernel, (self.nbytes // 4,), self, *others, made)
        return made

    def __add__(self, other):
        return self._each("add", other)

    def __mul__(self, other):
        return self._each("multiply", other)

    def relu(self):
        return self._each("relu")

    def __matmul__(self, other):
        (rows, inner), (others, columns) = self.shape, other.shape
        if inner != others:
            raise ValueError(f"shapes {self.shape} and {other.shape} do not fit")
        made = OpenCLArray(self.device, (rows, columns))
        self.device.launch("matmul", (columns, rows), self, other, made, inner, columns)
        return made

    def tolist(self):
        """All values, in row order."""
        return array.array("f", self.device.read(self.buffer, self.nbytes)).tolist()
