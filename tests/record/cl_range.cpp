// SPDX-License-Identifier: Apache-2.0
// A range of launches begins with the first launch, while another thread is in a blocking write,
// which a layer below holds up (COUNTING_LAYER_WRITE_MS). What was written is read in the range.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "../capture/cl_program.hpp"

namespace {

const char* kSource =
    "__kernel void nothing(__global int* to) {}\n"
    "__kernel void copy(__global int* to, __global const int* from) { *to = *from; }\n";

void launch(cl_command_queue queue, cl_kernel kernel) {
  const size_t one = 1;
  check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, nullptr, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
}

}  // namespace

int main() {
  const ClProgram cl(kSource);
  cl_command_queue queue = cl.queue();
  cl_command_queue others = cl.queue();
  cl_mem from = cl.buffer(sizeof(int));
  cl_mem to = cl.buffer(sizeof(int));
  cl_kernel nothing = cl.kernel("nothing");
  cl_kernel copy = cl.kernel("copy");
  check(clSetKernelArg(nothing, 0, sizeof to, &to), "clSetKernelArg");
  check(clSetKernelArg(copy, 0, sizeof to, &to), "clSetKernelArg");
  check(clSetKernelArg(copy, 1, sizeof from, &from), "clSetKernelArg");
  std::atomic<bool> writing{false};
  std::thread writer([&] {
    const int seven = 7;
    writing = true;
    check(clEnqueueWriteBuffer(others, from, CL_TRUE, 0, sizeof seven, &seven, 0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
  });
  while (!writing) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  launch(queue, nothing);
  writer.join();
  launch(queue, copy);
  int seen = 0;
  check(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, sizeof seen, &seen, 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  std::printf("%d\n", seen);
  return seen == 7 ? 0 : 3;
}
