// SPDX-License-Identifier: Apache-2.0
// What the programs of examples/cuda do, told to the stand-in for libcuda: kernels of the same
// names, counts and copies, and the same line of JSON; so that script/gpu-check can be run whole
// without a device. What they share is here, as examples/cuda/sample.hpp has it.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace samples {

constexpr size_t kMegabyte = 1u << 20;

inline void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: CUDA error %d\n", what, static_cast<int>(result));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

inline int64_t nowNs() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// In the order of `did` of examples/cuda/sample.hpp.
enum Count {
  kKernels,
  kGraphLaunches,
  kGraphKernels,
  kHtod,
  kHtodBytes,
  kDtoh,
  kDtohBytes,
  kDtod,
  kDtodBytes,
  kPeer,
  kPeerBytes,
  kFills,
  kFillBytes,
  kAllocations,
  kAllocatedBytes,
  kFrees,
  kFreedBytes,
  kCounts
};
constexpr const char* kNames[kCounts] = {
    "kernels",    "graph_launches", "graph_kernels",   "htod",  "htod_bytes", "dtoh",
    "dtoh_bytes", "dtod",           "dtod_bytes",      "peer",  "peer_bytes", "fills",
    "fill_bytes", "allocations",    "allocated_bytes", "frees", "freed_bytes"};
inline uint64_t did[kCounts];
inline std::string brackets;
inline CUmodule module = nullptr;

inline void start() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, ".version 8.0\n"));
}

inline CUfunction function(const char* name) {
  CUfunction made = nullptr;
  CHECK(cuModuleGetFunction(&made, module, name));
  return made;
}

inline void launch(CUfunction kernel, unsigned grid, unsigned block, CUstream stream = nullptr) {
  CHECK(cuLaunchKernel(kernel, grid, 1, 1, block, 1, 1, 0, stream, nullptr, nullptr));
}

inline void bracket(const char* kernel, uint64_t kernels, const std::function<void()>& launches) {
  const int64_t begin = nowNs();
  launches();
  CHECK(cuCtxSynchronize());
  const int64_t end = nowNs();
  did[kKernels] += kernels;
  brackets += std::string(brackets.empty() ? "" : ", ") + "{\"kernel\": \"" + kernel +
              "\", \"kernels\": " + std::to_string(kernels) +
              ", \"begin_ns\": " + std::to_string(begin) + ", \"end_ns\": " + std::to_string(end) +
              "}";
}

inline void say(const std::string& sample, const std::string& more = "") {
  char name[100] = {};
  int driver = 0;
  CHECK(cuDeviceGetName(name, sizeof name, 0));
  CHECK(cuDriverGetVersion(&driver));
  const auto attribute = [](CUdevice_attribute which) {
    int value = 0;
    CHECK(cuDeviceGetAttribute(&value, which, 0));
    return value;
  };
  std::printf(
      "{\"sample\": \"%s\", \"pid\": %d, \"device\": \"%s\", \"compute\": \"9.0\", "
      "\"driver\": %d, \"runtime\": 0, \"verified\": true, \"limits\": [%d, %d, %d, %d, %d]",
      sample.c_str(), static_cast<int>(getpid()), name, driver,
      attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE),
      attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
      attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
      attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
  for (int i = 0; i < kCounts; ++i) std::printf(", \"%s\": %" PRIu64, kNames[i], did[i]);
  std::printf("%s, \"brackets\": [%s]}\n", more.c_str(), brackets.c_str());
  std::fflush(stdout);
}

inline CUdeviceptr allocate(size_t bytes) {
  CUdeviceptr made = 0;
  CHECK(cuMemAlloc(&made, bytes));
  ++did[kAllocations], did[kAllocatedBytes] += bytes;
  return made;
}

inline void release(CUdeviceptr memory, size_t bytes) {
  CHECK(cuMemFree(memory));
  ++did[kFrees], did[kFreedBytes] += bytes;
}

inline void fill(CUdeviceptr memory, size_t bytes) {
  CHECK(cuMemsetD8(memory, 0, bytes));
  ++did[kFills], did[kFillBytes] += bytes;
}

/// The rest of a line of JSON: one number.
inline std::string member(const char* name, uint64_t value) {
  return std::string(", \"") + name + "\": " + std::to_string(value);
}

/// A function of the driver that not every stand-in has; ends the program, saying so.
inline void* optional(const char* sample, const char* name) {
  if (void* const found = dlsym(RTLD_DEFAULT, name)) return found;
  std::printf("{\"sample\": \"%s\", \"absent\": \"this driver has no %s\"}\n", sample, name);
  std::exit(0);
}

/// STANDIN_SCRIPT with one more thing, which is read when the driver starts.
inline std::string extendScript(const std::string& more) {
  const char* const script = std::getenv("STANDIN_SCRIPT");
  return script == nullptr ? more : more + "," + script;
}

/// The samples, by the arguments of their command lines.
void streams(int argc, char** argv);
void graphs(unsigned launches, unsigned nodes);
void threads(unsigned threads, unsigned seconds);
void events(unsigned rounds);
void streamValues(unsigned rounds);
void clocks(unsigned seconds, unsigned gap_us);
void memoryPhases();
void managed(unsigned megabytes, unsigned rounds);
void pools(unsigned rounds);
void virtualMemory(unsigned rounds);
void peerCopy(unsigned times);
void ptx(unsigned launches);

}  // namespace samples
