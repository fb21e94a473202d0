// SPDX-License-Identifier: Apache-2.0
// What a call costs. Usage: enqueue_cost null|empty [BATCHES [CALLS]]
//   null   clEnqueueNDRangeKernel with work_dim 0: fails at once; prints ns per call by the clock
//   and
//          of processor time (medians of the batches: they differ when the machine is busy with
//          other things), and the number of calls
//   empty  an empty kernel, launched and finished; under callgrind (--instr-atstart=no) all
//          instructions of the process are counted from the second hundred launches on until their
//          completions have been handled
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "cl_program.hpp"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#endif

namespace {

double now(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

constexpr int kWarmUp = 100;

void launchEmpty(cl_command_queue q, cl_kernel k, int times) {
  const size_t one = 1;
  for (int i = 0; i < times; ++i) {
    check(clEnqueueNDRangeKernel(q, k, 1, nullptr, &one, &one, 0, nullptr, nullptr), "enqueue");
    check(clFinish(q), "clFinish");
  }
  usleep(100'000);  // the driver tells of the last completions on a thread of its own
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
    launchEmpty(q, k, kWarmUp);
    CALLGRIND_START_INSTRUMENTATION;
    launchEmpty(q, k, batches * calls);
    CALLGRIND_STOP_INSTRUMENTATION;
    char version[256] = {};
    clGetDeviceInfo(cl.device, CL_DEVICE_VERSION, sizeof version - 1, version, nullptr);
    std::printf("%d launches on %s\n", kWarmUp + batches * calls, version);
    return 0;
  }
  std::vector<double> ns_per_call;
  std::vector<double> cpu_ns_per_call;
  for (int b = 0; b < batches; ++b) {
    const double begin = now(CLOCK_MONOTONIC);
    const double cpu_begin = now(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < calls; ++i) {
      if (clEnqueueNDRangeKernel(q, k, 0, nullptr, &one, nullptr, 0, nullptr, nullptr) ==
          CL_SUCCESS) {
        std::fprintf(stderr, "a launch of no dimensions succeeded\n");
        return 1;
      }
    }
    cpu_ns_per_call.push_back((now(CLOCK_THREAD_CPUTIME_ID) - cpu_begin) / calls);
    ns_per_call.push_back((now(CLOCK_MONOTONIC) - begin) / calls);
    // The collector shares the processors with us; what it does is not the call's cost.
    timespec pause{0, 30'000'000};
    nanosleep(&pause, nullptr);
  }
  std::printf("%.1f ns/call, %.1f ns of processor time, %lld calls\n", median(ns_per_call),
              median(cpu_ns_per_call), static_cast<long long>(batches) * calls);
  return 0;
}
