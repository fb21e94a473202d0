// SPDX-License-Identifier: Apache-2.0
// A program of which each result is known, for tests of replay: buffer 1 holds 0..63 and gets 5
// added twice (launches 1 and 2), buffer 2 holds 0..63 as floats and is halved on a second queue
// (launch 3). Usage: cl_checked [unseen|hang|crash]
//
// With a word it then does, in launch 4, what a replay cannot do alike: memory of the host that
// the device uses is changed without telling OpenCL, so that no recorder sees it.
#include <numeric>
#include <string>
#include <vector>

#include "../capture/cl_program.hpp"

namespace {

constexpr const char* kSource = R"(
__kernel void add(__global int* a, int by) { a[get_global_id(0)] += by; }
__kernel void halve(__global float* a) { a[get_global_id(0)] *= 0.5f; }
__kernel void unseen(__global volatile int* told) { told[1] = told[0]; }
__kernel void hang(__global volatile int* told) { while (told[0] == 0) told[1] += 1; }
__kernel void crash(__global volatile int* told) {
  if (told[0] == 0) *(__global volatile int*)(told[0] * 8L) = 1;
}
)";
constexpr size_t kItems = 64;

template <class T>
cl_mem bufferOf(const ClProgram& cl, std::vector<T>& values, cl_mem_flags flags) {
  cl_int e = CL_SUCCESS;
  cl_mem m = clCreateBuffer(cl.context, CL_MEM_READ_WRITE | flags, values.size() * sizeof(T),
                            values.data(), &e);
  check(e, "clCreateBuffer");
  return m;
}

void launch(cl_command_queue q, cl_kernel k, size_t items) {
  check(clEnqueueNDRangeKernel(q, k, 1, nullptr, &items, nullptr, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
}

}  // namespace

int main(int argc, char** argv) {
  const ClProgram cl(kSource);
  cl_command_queue one = cl.queue();
  cl_command_queue two = cl.queue();
  std::vector<int> ints(kItems);
  std::iota(ints.begin(), ints.end(), 0);
  std::vector<float> floats(ints.begin(), ints.end());
  cl_mem a = bufferOf(cl, ints, CL_MEM_COPY_HOST_PTR);
  cl_mem b = bufferOf(cl, floats, CL_MEM_COPY_HOST_PTR);
  cl_kernel add = cl.kernel("add");
  cl_kernel halve = cl.kernel("halve");
  const int by = 5;
  check(clSetKernelArg(add, 0, sizeof a, static_cast<const void*>(&a)), "clSetKernelArg");
  check(clSetKernelArg(add, 1, sizeof by, &by), "clSetKernelArg");
  check(clSetKernelArg(halve, 0, sizeof b, static_cast<const void*>(&b)), "clSetKernelArg");
  launch(one, add, kItems);
  launch(one, add, kItems);
  launch(two, halve, kItems);
  check(clEnqueueReadBuffer(one, a, CL_TRUE, 0, kItems * sizeof(int), ints.data(), 0, nullptr,
                            nullptr),
        "clEnqueueReadBuffer");
  check(clEnqueueReadBuffer(two, b, CL_TRUE, 0, kItems * sizeof(float), floats.data(), 0, nullptr,
                            nullptr),
        "clEnqueueReadBuffer");
  for (size_t i = 0; i < kItems; ++i) {
    if (ints[i] != static_cast<int>(i) + 10 || floats[i] != static_cast<float>(i) / 2) return 1;
  }
  if (argc < 2) return 0;
  std::vector<int> host_memory(kItems);
  cl_mem m = bufferOf(cl, host_memory, CL_MEM_USE_HOST_PTR);
  cl_kernel k = cl.kernel(argv[1]);
  check(clSetKernelArg(k, 0, sizeof m, static_cast<const void*>(&m)), "clSetKernelArg");
  host_memory[0] = 1;
  launch(one, k, 1);
  check(clEnqueueReadBuffer(one, m, CL_TRUE, 0, 2 * sizeof(int), ints.data(), 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  return 0;
}
