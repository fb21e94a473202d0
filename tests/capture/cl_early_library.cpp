// SPDX-License-Identifier: Apache-2.0
// A library that makes its OpenCL objects while it is loaded: before the constructors of libraries
// that are preloaded.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

struct Early {
  Early() {
    cl_platform_id platform = nullptr;
    if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS) return;
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    queue = clCreateCommandQueue(context, device, 0, nullptr);
  }
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
};
static const Early g_early;

extern "C" cl_command_queue earlyQueue() { return g_early.queue; }
extern "C" cl_context earlyContext() { return g_early.context; }
