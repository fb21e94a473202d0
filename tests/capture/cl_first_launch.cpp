// SPDX-License-Identifier: Apache-2.0
// Launches kernels for the first and for further times, and says which is which.
// Prints one line per launch, in order: its kernel, and 1 when a driver that compiles late has to
// compile for it.
#include "cl_program.hpp"

namespace {

constexpr const char* kSource = R"(
__kernel void twice(__global int* a) { a[get_global_id(0)] *= 2; }
__kernel void thrice(__global int* a) { a[get_global_id(0)] *= 3; }
)";

void launch(const ClProgram& cl, cl_kernel kernel, const char* name, size_t local, int first) {
  // Each on a queue of its own: what is compiled belongs to the device, not to the queue.
  cl_command_queue q = cl.queue();
  cl_mem m = cl.buffer(256 * sizeof(int));
  check(clSetKernelArg(kernel, 0, sizeof m, &m), "clSetKernelArg");
  const size_t global = 256;
  check(clEnqueueNDRangeKernel(q, kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
  check(clFinish(q), "clFinish");
  clReleaseMemObject(m);
  clReleaseCommandQueue(q);
  std::printf("%s %d\n", name, first);
}

}  // namespace

int main() {
  ClProgram cl(kSource);
  cl_kernel twice = cl.kernel("twice");
  cl_kernel thrice = cl.kernel("thrice");
  launch(cl, twice, "twice", 64, 1);
  launch(cl, twice, "twice", 64, 0);
  launch(cl, thrice, "thrice", 64, 1);
  launch(cl, twice, "twice", 64, 0);
  launch(cl, twice, "twice", 32, 1);
  launch(cl, twice, "twice", 64, 0);
  launch(cl, twice, "twice", 32, 0);
  launch(cl, thrice, "thrice", 64, 0);
  // Another kernel object of the same function: nothing is left to compile.
  cl_kernel again = cl.kernel("twice");
  launch(cl, again, "twice", 32, 0);
  // Another program: all of it is, also where the kernels bear the names of before.
  const ClProgram other(kSource);
  cl_kernel others = other.kernel("twice");
  launch(other, others, "twice", 64, 1);
  launch(other, others, "twice", 64, 0);
  launch(cl, twice, "twice", 64, 0);
  return 0;
}
