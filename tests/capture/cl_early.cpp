// SPDX-License-Identifier: Apache-2.0
// Launches one kernel in the queue that a linked library made before main(); says what it wrote.
// Exit code 77: there is no OpenCL driver.
#include "cl_program.hpp"

extern "C" cl_command_queue earlyQueue();
extern "C" cl_context earlyContext();

int main() {
  if (earlyQueue() == nullptr) return 77;
  const char* source = "__kernel void seven(__global int* out) { *out = 7; }";
  cl_program program = clCreateProgramWithSource(earlyContext(), 1, &source, nullptr, nullptr);
  check(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), "clBuildProgram");
  cl_kernel kernel = clCreateKernel(program, "seven", nullptr);
  cl_mem out = clCreateBuffer(earlyContext(), CL_MEM_READ_WRITE, sizeof(int), nullptr, nullptr);
  check(clSetKernelArg(kernel, 0, sizeof out, &out), "clSetKernelArg");
  const size_t one = 1;
  check(
      clEnqueueNDRangeKernel(earlyQueue(), kernel, 1, nullptr, &one, nullptr, 0, nullptr, nullptr),
      "clEnqueueNDRangeKernel");
  int answer = 0;
  check(clEnqueueReadBuffer(earlyQueue(), out, CL_TRUE, 0, sizeof answer, &answer, 0, nullptr,
                            nullptr),
        "clEnqueueReadBuffer");
  std::printf("%d\n", answer);
  return 0;
}
