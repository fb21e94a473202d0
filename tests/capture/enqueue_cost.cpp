// SPDX-License-Identifier: Apache-2.0
// What a call costs. Usage: enqueue_cost null|empty [BATCHES [CALLS]]
//   null   clEnqueueNDRangeKernel with work_dim 0: fails at once; prints ns per call (median of the
//          batches) and the number of calls
//   empty  an empty kernel, launched and finished; for counting instructions
#include <time.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "cl_program.hpp"

namespace {

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  const bool null_path = argc < 2 || std::strcmp(argv[1], "null") == 0;
  const int batches = argc > 2 ? std::atoi(argv[2]) : 41;
  const int calls = argc > 3 ? std::atoi(argv[3]) : 250'000;
  ClProgram cl("__kernel void empty(void) {}");
  cl_command_queue q = cl.queue();
  cl_kernel k = cl.kernel("empty");
  const size_t one = 1;
  if (!null_path) {
    for (int i = 0; i < batches * calls; ++i) {
      check(clEnqueueNDRangeKernel(q, k, 1, nullptr, &one, &one, 0, nullptr, nullptr), "enqueue");
      check(clFinish(q), "clFinish");
    }
    std::printf("%d launches\n", batches * calls);
    return 0;
  }
  std::vector<double> ns_per_call;
  for (int b = 0; b < batches; ++b) {
    const double begin = now();
    for (int i = 0; i < calls; ++i) {
      if (clEnqueueNDRangeKernel(q, k, 0, nullptr, &one, nullptr, 0, nullptr, nullptr) ==
          CL_SUCCESS) {
        std::fprintf(stderr, "a launch of no dimensions succeeded\n");
        return 1;
      }
    }
    ns_per_call.push_back((now() - begin) / calls);
    // The collector shares the processors with us; what it does is not the call's cost.
    timespec pause{0, 30'000'000};
    nanosleep(&pause, nullptr);
  }
  std::sort(ns_per_call.begin(), ns_per_call.end());
  std::printf("%.1f ns/call, %lld calls\n", ns_per_call[ns_per_call.size() / 2],
              static_cast<long long>(batches) * calls);
  return 0;
}
