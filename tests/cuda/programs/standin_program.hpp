// SPDX-License-Identifier: Apache-2.0
// What the parts of the stand-ins' program share: the counts it says at its end, and the work that
// all modes are made of.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace program {

constexpr size_t kBytes = 4096;
constexpr unsigned kBlock = 128;
constexpr size_t kGraphNodes = 3;

#define STANDIN_COUNTS(X)  \
  X(kernels)               \
  X(extended_launches)     \
  X(failed_launches)       \
  X(allocations)           \
  X(frees)                 \
  X(htod)                  \
  X(htod_bytes)            \
  X(dtoh)                  \
  X(dtoh_bytes)            \
  X(dtod)                  \
  X(dtod_bytes)            \
  X(fills)                 \
  X(fill_bytes)            \
  X(stream_syncs)          \
  X(event_records)         \
  X(stream_waits)          \
  X(event_syncs)           \
  X(context_syncs)         \
  X(streams)               \
  X(contexts)              \
  X(devices)               \
  X(modules)               \
  X(module_bytes)          \
  X(module_unloads)        \
  X(graph_launches)        \
  X(graph_kernels)         \
  X(threads)               \
  X(synchronized_kernels)  \
  X(queued_kernels)        \
  X(second_device_kernels) \
  X(abandoned_calls)       \
  X(resets)                \
  X(finalizes)             \
  X(children)              \
  X(child_ms)              \
  X(allocated_bytes)       \
  X(async_allocations)     \
  X(async_frees)           \
  X(managed_allocations)   \
  X(pinned_allocations)    \
  X(pools)                 \
  X(pool_trims)            \
  X(gpu_faults)            \
  X(cpu_faults)            \
  X(migrated_htod)         \
  X(migrated_htod_bytes)   \
  X(migrated_dtoh)         \
  X(migrated_dtoh_bytes)   \
  X(prefetches)            \
  X(peer_copies)           \
  X(peer_copy_bytes)       \
  X(captured_launches)     \
  X(graph_copies)          \
  X(graph_copy_bytes)      \
  X(graph_fills)           \
  X(virtual_allocations)   \
  X(virtual_frees)         \
  X(virtual_peak_bytes)    \
  X(virtual_left_bytes)    \
  X(second_device_bytes)   \
  X(host_virtual_bytes)    \
  X(maps)                  \
  X(unmaps)                \
  X(reserves)              \
  X(value_operations)      \
  X(runtime_calls)         \
  X(driver_launches)

struct Counts {
#define STANDIN_COUNT(name) std::atomic<uint64_t> name{0};
  STANDIN_COUNTS(STANDIN_COUNT)
#undef STANDIN_COUNT
};
inline Counts counts;

inline void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: CUDA error %d\n", what, static_cast<int>(result));
  std::exit(1);
}

#define CHECK(call) ::program::check(call, #call)

// Ends the program if it is not so.
inline void expect(bool so, const char* what) {
  if (so) return;
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

inline CUcontext context = nullptr;
inline CUfunction vector_add = nullptr, busy_wait = nullptr;

// Initialises CUDA, and makes this device's primary context current, with a module.
void start(CUdevice device = 0);

// A module in the current context with the kernels.
void loadModule();

CUstream stream();

// The ith launch has its own grid; every fourth is made by cuLaunchKernelEx.
void launch(unsigned i, CUstream on);

// A kernel that runs long.
void launchLong(CUstream on);

void copiesAndFills(CUstream on);
void synchronize();
void launches(unsigned kernels, unsigned streams);
void inThreads(unsigned threads, unsigned kernels);
void graph(unsigned times);

// Prints the one JSON object.
void say(const char* mode);

// Modes of processes: what ends, forks, executes or is interrupted.
bool processMode(const char* mode, unsigned first, unsigned second);
// Modes of memory, and of graphs that are captured.
bool memoryMode(const char* mode, unsigned first, unsigned second);
CUgraphExec instantiate(CUgraph graph);
// Modes of virtual memory, and of memory operations on streams.
bool virtualMode(const char* mode, unsigned first, unsigned second);
// Modes of devices and contexts.
bool deviceMode(const char* mode, unsigned first, unsigned second);

}  // namespace program
