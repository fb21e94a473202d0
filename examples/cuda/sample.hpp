// SPDX-License-Identifier: Apache-2.0
// Shared by the CUDA samples. They count what they do and print it at the end as one line of JSON,
// so that a profiler's trace of them can be checked. Times are CLOCK_MONOTONIC in nanoseconds.
//
// A bracket is the time from before a launch until the wait for it is over: the kernels that it
// counts ran within it.
#pragma once

#include <cuda_runtime.h>
#include <time.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace sample {

struct Bracket {
  const char* kernel;
  uint64_t kernels;
  int64_t begin_ns, end_ns;
};

struct Did {
  uint64_t kernels = 0, graph_launches = 0, graph_kernels = 0, htod = 0, htod_bytes = 0, dtoh = 0,
           dtoh_bytes = 0, dtod = 0, dtod_bytes = 0, peer = 0, peer_bytes = 0, fills = 0,
           fill_bytes = 0, allocations = 0, allocated_bytes = 0, frees = 0, freed_bytes = 0;
  std::vector<Bracket> brackets;
};
inline Did did;

inline int64_t nowNs() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}
#define CHECK(call) sample::check(call, #call)

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::exit(1);
}

/// Returns the number of devices; exits with 3 if there is none.
inline int start() {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "no CUDA device: %s\n", cudaGetErrorString(error));
    std::exit(3);
  }
  CHECK(cudaSetDevice(0));
  return devices;
}

/// The nth number on the command line, or `otherwise`.
inline unsigned number(int argc, char** argv, int nth, unsigned otherwise) {
  return argc > nth ? static_cast<unsigned>(std::strtoul(argv[nth], nullptr, 10)) : otherwise;
}

template <class T>
T* allocate(size_t count) {
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, count * sizeof(T)));
  ++did.allocations, did.allocated_bytes += count * sizeof(T);
  return static_cast<T*>(memory);
}

inline void release(void* memory, size_t bytes) {
  CHECK(cudaFree(memory));
  ++did.frees, did.freed_bytes += bytes;
}

template <class T>
void copyIn(T* to, const std::vector<T>& from) {
  CHECK(cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
  ++did.htod, did.htod_bytes += from.size() * sizeof(T);
}

template <class T>
void copyOut(std::vector<T>& to, const T* from) {
  CHECK(cudaMemcpy(to.data(), from, to.size() * sizeof(T), cudaMemcpyDeviceToHost));
  ++did.dtoh, did.dtoh_bytes += to.size() * sizeof(T);
}

/// Calls a function that launches `kernels` kernels, and waits for all of them.
template <class Launches>
void bracket(const char* kernel, uint64_t kernels, Launches launches) {
  const int64_t begin = nowNs();
  launches();
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  did.brackets.push_back({kernel, kernels, begin, nowNs()});
  did.kernels += kernels;
}

/// Prints the line of JSON; `more` has further members, each preceded by a comma.
inline void say(const char* name, const std::string& more = "") {
  cudaDeviceProp device{};
  int driver = 0, runtime = 0;
  CHECK(cudaGetDeviceProperties(&device, 0));
  CHECK(cudaDriverGetVersion(&driver));
  CHECK(cudaRuntimeGetVersion(&runtime));
  std::printf(
      "{\"sample\": \"%s\", \"pid\": %d, \"device\": \"%s\", \"compute\": \"%d.%d\", "
      "\"driver\": %d, \"runtime\": %d, \"verified\": true, \"limits\": [%d, %d, %d, %d, %zu]",
      name, static_cast<int>(getpid()), device.name, device.major, device.minor, driver, runtime,
      device.multiProcessorCount, device.warpSize, device.maxThreadsPerMultiProcessor,
      device.regsPerMultiprocessor, device.sharedMemPerMultiprocessor);
  const struct {
    const char* name;
    uint64_t value;
  } counts[] = {{"kernels", did.kernels},
                {"graph_launches", did.graph_launches},
                {"graph_kernels", did.graph_kernels},
                {"htod", did.htod},
                {"htod_bytes", did.htod_bytes},
                {"dtoh", did.dtoh},
                {"dtoh_bytes", did.dtoh_bytes},
                {"dtod", did.dtod},
                {"dtod_bytes", did.dtod_bytes},
                {"peer", did.peer},
                {"peer_bytes", did.peer_bytes},
                {"fills", did.fills},
                {"fill_bytes", did.fill_bytes},
                {"allocations", did.allocations},
                {"allocated_bytes", did.allocated_bytes},
                {"frees", did.frees},
                {"freed_bytes", did.freed_bytes}};
  for (const auto& count : counts) std::printf(", \"%s\": %" PRIu64, count.name, count.value);
  std::printf("%s, \"brackets\": [", more.c_str());
  const char* between = "";
  for (const Bracket& b : did.brackets) {
    std::printf("%s{\"kernel\": \"%s\", \"kernels\": %" PRIu64 ", \"begin_ns\": %" PRId64
                ", \"end_ns\": %" PRId64 "}",
                between, b.kernel, b.kernels, b.begin_ns, b.end_ns);
    between = ", ";
  }
  std::printf("]}\n");
  std::fflush(stdout);
}

}  // namespace sample
