// SPDX-License-Identifier: Apache-2.0
// Modes of standin_program that are about memory, and about graphs that are captured.
#include <string>
#include <vector>

#include "standin_program.hpp"

// The stand-in's own: the host reads unified memory.
extern "C" void standinTouch(CUdeviceptr);

namespace program {
namespace {

void allocated(size_t bytes) {
  ++counts.allocations;
  counts.allocated_bytes += bytes;
}

void memory(unsigned rounds) {
  CUstream on = stream();
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool pool = nullptr;
  CHECK(cuMemPoolCreate(&pool, &properties));
  ++counts.pools;
  for (unsigned i = 1; i <= rounds; ++i) {
    const size_t bytes = kBytes * i;
    CUdeviceptr plain = 0, managed = 0, async = 0, pooled = 0;
    void* pinned = nullptr;
    CHECK(cuMemAlloc(&plain, bytes));
    allocated(bytes);
    CHECK(cuMemAllocManaged(&managed, bytes, CU_MEM_ATTACH_GLOBAL));
    allocated(bytes);
    ++counts.managed_allocations;
    CHECK(cuMemAllocHost(&pinned, bytes));
    allocated(bytes);
    ++counts.pinned_allocations;
    CHECK(cuMemAllocAsync(&async, bytes, on));
    allocated(bytes);
    CHECK(cuMemAllocFromPoolAsync(&pooled, bytes, pool, on));
    allocated(bytes);
    counts.async_allocations += 2;
    CHECK(cuMemFreeAsync(async, on));
    CHECK(cuMemFreeAsync(pooled, on));
    counts.async_frees += 2;
    CHECK(cuMemFreeHost(pinned));
    CHECK(cuMemFree(managed));
    CHECK(cuMemFree(plain));
    counts.frees += 5;
  }
  CHECK(cuMemPoolTrimTo(pool, 0));
  ++counts.pool_trims;
  CHECK(cuMemPoolDestroy(pool));
  CHECK(cuStreamSynchronize(on));
  ++counts.stream_syncs;
}

void prefetch(CUdeviceptr pointer, bool to_device, CUstream on) {
#if CUDA_VERSION >= 12020
  CUmemLocation where{};
  where.type = to_device ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_HOST;
  CHECK(cuMemPrefetchAsync_v2(pointer, kBytes, where, 0, on));
#else
  CHECK(cuMemPrefetchAsync(pointer, kBytes, to_device ? 0 : CU_DEVICE_CPU, on));
#endif
  ++counts.prefetches;
}

void moved(bool to_device) {
  ++(to_device ? counts.migrated_htod : counts.migrated_dtoh);
  (to_device ? counts.migrated_htod_bytes : counts.migrated_dtoh_bytes) += kBytes;
}

void managed() {
  CUstream on = stream();
  CUdeviceptr pointer = 0;
  CHECK(cuMemAllocManaged(&pointer, kBytes, CU_MEM_ATTACH_GLOBAL));
  allocated(kBytes);
  ++counts.managed_allocations;
  for (unsigned i = 0; i < 10; ++i) {
    launch(0, on);  // the device faults
    ++counts.gpu_faults;
    moved(true);
    CHECK(cuStreamSynchronize(on));
    ++counts.stream_syncs;
    standinTouch(pointer);
    ++counts.cpu_faults;
    moved(false);
  }
  prefetch(pointer, true, on);
  moved(true);
  launch(0, on);  // and now it does not
  prefetch(pointer, false, on);
  moved(false);
  CHECK(cuStreamSynchronize(on));
  ++counts.stream_syncs;
  CHECK(cuMemFree(pointer));
  ++counts.frees;
}

// Two kernels on one stream, a copy and a fill on another that joins in between.
void capture(unsigned times) {
  CUstream first = stream(), second = stream();
  CUevent fork = nullptr, join = nullptr;
  CUdeviceptr pointer = 0;
  static unsigned char host[kBytes];
  CHECK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
  CHECK(cuMemAlloc(&pointer, kBytes));
  allocated(kBytes);
  CUgraph graph = nullptr;
  CHECK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(cuLaunchKernel(vector_add, 5, 1, 1, kBlock, 1, 1, 0, first, nullptr, nullptr));
  CHECK(cuEventRecord(fork, first));
  CHECK(cuStreamWaitEvent(second, fork, 0));
  CHECK(cuMemcpyHtoDAsync(pointer, host, kBytes, second));
  CHECK(cuMemsetD8Async(pointer, 1, kBytes, second));
  CHECK(cuEventRecord(join, second));
  CHECK(cuStreamWaitEvent(first, join, 0));
  CHECK(cuLaunchKernel(vector_add, 6, 1, 1, kBlock, 1, 1, 0, first, nullptr, nullptr));
  CHECK(cuStreamEndCapture(first, &graph));
  counts.captured_launches += 2;
  const CUgraphExec exec = instantiate(graph);
  for (unsigned i = 0; i < times; ++i) {
    CHECK(cuGraphLaunch(exec, first));
    ++counts.graph_launches;
    counts.graph_kernels += 2;
    ++counts.graph_copies;
    counts.graph_copy_bytes += kBytes;
    ++counts.graph_fills;
  }
  CHECK(cuStreamSynchronize(first));
  ++counts.stream_syncs;
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(graph));
}

}  // namespace

bool memoryMode(const char* name, unsigned first, unsigned) {
  const std::string mode = name;
  if (mode == "memory") {
    memory(first);
  } else if (mode == "managed") {
    managed();
  } else if (mode == "capture") {
    capture(first);
  } else {
    return false;
  }
  return true;
}

}  // namespace program
