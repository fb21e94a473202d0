// SPDX-License-Identifier: Apache-2.0
// What a launch costs that fails at once (a grid of no blocks): the driver's share is small, and no
// work is done. Usage: launch_cost [BATCHES [CALLS]]   prints ns per call by the clock and of
// processor time (medians of the batches), the number of calls, and, where call_watch is preloaded,
// how often they allocated memory or took a lock.
#include <cuda.h>
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

double now(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: CUDA error %d\n", what, static_cast<int>(result));
  std::exit(1);
}

CUfunction kernel() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction made = nullptr;
  check(cuInit(0), "cuInit");
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(cuModuleLoadData(&module, ".version 8.0\n.visible .entry vectorAdd() { ret; }\n"),
        "cuModuleLoadData");
  check(cuModuleGetFunction(&made, module, "vectorAdd"), "cuModuleGetFunction");
  return made;
}

void launch(CUfunction function, int times) {
  for (int i = 0; i < times; ++i) {
    if (cuLaunchKernel(function, 0, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_SUCCESS) {
      std::fprintf(stderr, "an empty grid was launched\n");
      std::exit(1);
    }
  }
}

using Watch = unsigned long (*)(bool);

}  // namespace

int main(int argc, char** argv) {
  const int batches = argc > 1 ? std::atoi(argv[1]) : 41;
  const int calls = argc > 2 ? std::atoi(argv[2]) : 250'000;
  const CUfunction function = kernel();
  const auto watch = reinterpret_cast<Watch>(dlsym(RTLD_DEFAULT, "watchCalls"));
  launch(function, 100);  // what a thread does once
  std::vector<double> ns, cpu_ns;
  unsigned long seen = 0;
  for (int b = 0; b < batches; ++b) {
    const double begin = now(CLOCK_MONOTONIC);
    const double cpu_begin = now(CLOCK_THREAD_CPUTIME_ID);
    if (watch != nullptr) watch(true);
    launch(function, calls);
    if (watch != nullptr) seen += watch(false);
    cpu_ns.push_back((now(CLOCK_THREAD_CPUTIME_ID) - cpu_begin) / calls);
    ns.push_back((now(CLOCK_MONOTONIC) - begin) / calls);
    // The collector shares the processors with us; what it does is not the call's cost.
    timespec pause{0, 30'000'000};
    nanosleep(&pause, nullptr);
  }
  std::printf("%.1f ns/call, %.1f ns of processor time, %lld calls", median(ns), median(cpu_ns),
              static_cast<long long>(batches) * calls);
  if (watch != nullptr) std::printf(", %lu allocations and locks", seen);
  std::printf("\n");
}
