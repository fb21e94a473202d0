// SPDX-License-Identifier: Apache-2.0
// The little OpenCL that the test programs share: the first device, a context, a program.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

inline void check(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  std::fprintf(stderr, "%s failed with %d\n", what, code);
  std::exit(1);
}

struct ClProgram {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_program program = nullptr;

  explicit ClProgram(const char* source = nullptr) {
    check(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "clGetDeviceIDs");
    cl_int e = CL_SUCCESS;
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &e);
    check(e, "clCreateContext");
    if (source == nullptr) return;
    program = clCreateProgramWithSource(context, 1, &source, nullptr, &e);
    check(e, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device, "", nullptr, nullptr), "clBuildProgram");
  }
  /// Oclgrind 21.10 never returns from clCreateCommandQueueWithProperties.
  bool onlyLegacyQueues() const {
    char name[64] = {};
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, nullptr);
    return std::strcmp(name, "Oclgrind") == 0;
  }
  cl_command_queue queue(cl_command_queue_properties properties = 0) const {
    cl_int e = CL_SUCCESS;
    const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
    cl_command_queue q = onlyLegacyQueues()
                             ? clCreateCommandQueue(context, device, properties, &e)
                             : clCreateCommandQueueWithProperties(context, device, list, &e);
    check(e, "clCreateCommandQueue");
    return q;
  }
  cl_kernel kernel(const char* name) const {
    cl_int e = CL_SUCCESS;
    cl_kernel k = clCreateKernel(program, name, &e);
    check(e, "clCreateKernel");
    return k;
  }
  cl_mem buffer(size_t bytes) const {
    cl_int e = CL_SUCCESS;
    cl_mem m = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, &e);
    check(e, "clCreateBuffer");
    return m;
  }
};
