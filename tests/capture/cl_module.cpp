// SPDX-License-Identifier: Apache-2.0
// A module that is linked to OpenCL, for a program that is not (cl_dlopens).
#include <vector>

#include "cl_program.hpp"

extern "C" int doubles();

/// 0 when a kernel did what it should.
int doubles() {
  const ClProgram cl("__kernel void twice(__global int* a) { a[get_global_id(0)] *= 2; }");
  cl_command_queue q = cl.queue();
  constexpr size_t kInts = 64;
  std::vector<int> host(kInts, 21);
  cl_mem m = cl.buffer(kInts * sizeof(int));
  cl_kernel k = cl.kernel("twice");
  check(
      clEnqueueWriteBuffer(q, m, CL_TRUE, 0, kInts * sizeof(int), host.data(), 0, nullptr, nullptr),
      "write");
  check(clSetKernelArg(k, 0, sizeof m, static_cast<const void*>(&m)), "clSetKernelArg");
  check(clEnqueueNDRangeKernel(q, k, 1, nullptr, &kInts, nullptr, 0, nullptr, nullptr), "launch");
  check(
      clEnqueueReadBuffer(q, m, CL_TRUE, 0, kInts * sizeof(int), host.data(), 0, nullptr, nullptr),
      "read");
  clReleaseMemObject(m);
  clReleaseKernel(k);
  clReleaseCommandQueue(q);
  for (const int x : host) {
    if (x != 42) return 1;
  }
  return 0;
}
