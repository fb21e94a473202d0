// SPDX-License-Identifier: Apache-2.0
// A library that defines a part of OpenCL, as far as one program needs it.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

extern "C" __attribute__((visibility("default"))) cl_mem clCreateBuffer(cl_context, cl_mem_flags,
                                                                        size_t, void*,
                                                                        cl_int* error) {
  *error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return nullptr;
}
