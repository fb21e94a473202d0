// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "../opencl_demo/compute.hpp"
#include "goals.hpp"

namespace goals {

int twoQueues() {
  constexpr const char* kSource =
      "kernel void turn(global float* x, int times) {"
      "  size_t i = get_global_id(0);"
      "  for (int k = 0; k < times; ++k) x[i] = x[i] * 0.999f + 1.0f;"
      "}";
  Compute opencl(pickDevice(), kSource);
  const size_t count = 4096;
  cl_mem buffer = opencl.buffer(CL_MEM_READ_WRITE, count * sizeof(float));
  const float zero = 0;
  check(clEnqueueFillBuffer(opencl.queue(0), buffer, &zero, sizeof(zero), 0, count * sizeof(zero),
                            0, nullptr, nullptr),
        "clEnqueueFillBuffer");
  check(clFinish(opencl.queue(0)), "clFinish");
  cl_kernel slow = opencl.kernel("turn");
  setArguments(slow, buffer, 20'000);
  cl_event done = nullptr;
  check(
      clEnqueueNDRangeKernel(opencl.queue(0), slow, 1, nullptr, &count, nullptr, 0, nullptr, &done),
      "clEnqueueNDRangeKernel");
  check(clFlush(opencl.queue(0)), "clFlush");
  cl_kernel quick = opencl.kernel("turn");
  setArguments(quick, buffer, 1);
  check(clEnqueueNDRangeKernel(opencl.queue(1), quick, 1, nullptr, &count, nullptr, 1, &done,
                               nullptr),
        "clEnqueueNDRangeKernel");
  check(clFinish(opencl.queue(1)), "clFinish");
  check(clReleaseEvent(done), "clReleaseEvent");
  return 0;
}

}  // namespace goals
