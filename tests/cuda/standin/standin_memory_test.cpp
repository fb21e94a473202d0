// SPDX-License-Identifier: Apache-2.0
// Memory, copies between devices, compilation and captured graphs, as a client of CUPTI sees them.
#include "standin_client.hpp"

namespace {

TEST(StandinMemory, EachAllocationAndReleaseIsARecord) {
  alone("", [] {
    start({CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY_POOL});
    CUstream on = stream();
    CUdeviceptr plain = 0, managed = 0, async = 0, pooled = 0;
    void* pinned = nullptr;
    EXPECT_EQ(cuMemAlloc(&plain, 1000), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAllocManaged(&managed, 2000, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAllocHost(&pinned, 3000), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAllocAsync(&async, 4000, on), CUDA_SUCCESS);
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAllocFromPoolAsync(&pooled, 5000, pool, on), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree(plain), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree(plain), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemFree(managed), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFreeHost(pinned), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFreeAsync(async, on), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFreeAsync(pooled, on), CUDA_SUCCESS);
    EXPECT_EQ(cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
    drain();
    const auto all = records<MemoryRecord>(CUPTI_ACTIVITY_KIND_MEMORY2);
    ASSERT_EQ(all.size(), 10u);
    const CUpti_ActivityMemoryKind kinds[] = {
        CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED,
        CUPTI_ACTIVITY_MEMORY_KIND_PINNED, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
        CUPTI_ACTIVITY_MEMORY_KIND_DEVICE};
    for (size_t i = 0; i < 5; ++i) {
      const MemoryRecord &made = all[i], &gone = all[i + 5];
      EXPECT_EQ(made.memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
      EXPECT_EQ(gone.memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
      EXPECT_EQ(made.address, gone.address);
      EXPECT_EQ(made.bytes, 1000 * (i + 1));
      EXPECT_EQ(gone.bytes, made.bytes);
      EXPECT_EQ(made.memoryKind, kinds[i]);
      EXPECT_EQ(made.isAsync, i >= 3 ? 1u : 0u);
      EXPECT_EQ(made.streamId == CUPTI_INVALID_STREAM_ID, i < 3);
      EXPECT_NE(made.correlationId, 0u);
      EXPECT_LT(made.timestamp, gone.timestamp);
      EXPECT_EQ(made.memoryPoolConfig.utilizedSize, i >= 3 ? made.bytes : 0);
    }
    const auto pools = records<PoolRecord>(CUPTI_ACTIVITY_KIND_MEMORY_POOL);
    ASSERT_EQ(pools.size(), 4u);  // the first is the default pool
    EXPECT_EQ(pools[1].memoryPoolOperationType, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED);
    EXPECT_EQ(pools[2].memoryPoolOperationType, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED);
    EXPECT_EQ(pools[3].memoryPoolOperationType,
              CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED);
    EXPECT_EQ(pools[1].address, all[4].memoryPoolConfig.address);
    EXPECT_NE(pools[0].address, pools[1].address);
  });
}

void countUnified() {
  CUpti_ActivityUnifiedMemoryCounterConfig configs[4] = {};
  for (int i = 0; i < 4; ++i) {
    configs[i].scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES;
    configs[i].kind = static_cast<CUpti_ActivityUnifiedMemoryCounterKind>(i + 1);
    configs[i].enable = 1;
  }
  EXPECT_EQ(cuptiActivityConfigureUnifiedMemoryCounter(configs, 4), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER), CUPTI_SUCCESS);
}

TEST(StandinMemory, UnifiedMemoryMovesAndFaults) {
  alone("", [] {
    startTool({});
    CUpti_ActivityUnifiedMemoryCounterConfig early{};
    EXPECT_EQ(cuptiActivityConfigureUnifiedMemoryCounter(&early, 1), CUPTI_ERROR_NOT_INITIALIZED);
    startProgram();
    countUnified();
    CUdeviceptr memory = 0;
    EXPECT_EQ(cuMemAllocManaged(&memory, 8192, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    launch(1, nullptr);
    launch(1, nullptr);
    cuCtxSynchronize();
    standinTouch(memory + 100);
    standinTouch(memory);
#if CUDA_VERSION >= 12020
    const CUmemLocation there{CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    EXPECT_EQ(cuMemPrefetchAsync_v2(memory, 8192, there, 0, nullptr), CUDA_SUCCESS);
#else
    EXPECT_EQ(cuMemPrefetchAsync(memory, 8192, 0, nullptr), CUDA_SUCCESS);
#endif
    drain();
    const auto all = records<UnifiedRecord>(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
    const CUpti_ActivityUnifiedMemoryCounterKind kinds[] = {
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD};
    ASSERT_EQ(all.size(), 5u);
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(all[i].counterKind, kinds[i]);
      EXPECT_EQ(all[i].address, memory);
      EXPECT_LT(all[i].start, all[i].end);
    }
    EXPECT_EQ(all[1].value, 8192u);
    EXPECT_EQ(all[4].flags, CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_PREFETCH);
  });
}

TEST(StandinMemory, ACopyBetweenDevicesHasItsOwnRecord) {
  alone("devices=2", [] {
    start({CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2});
    CUcontext other = nullptr;
    cuDevicePrimaryCtxRetain(&other, 1);
    CUdeviceptr here = 0, there = 0;
    cuMemAlloc(&here, 64);
    cuCtxPushCurrent(other);
    cuMemAlloc(&there, 64);
    cuCtxPopCurrent(nullptr);
    EXPECT_EQ(cuMemcpyPeerAsync(there, other, here, context, 64, stream()), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyPeer(here, context, here, context, 32), CUDA_SUCCESS);
    char host[64] = {};
    EXPECT_EQ(cuMemcpyAsync(here, reinterpret_cast<CUdeviceptr>(host), 64, nullptr), CUDA_SUCCESS);
    drain();
    const auto peers = records<PeerRecord>(CUPTI_ACTIVITY_KIND_MEMCPY2);
    ASSERT_EQ(peers.size(), 1u);
    EXPECT_EQ(peers[0].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
    EXPECT_EQ(peers[0].srcDeviceId, 0u);
    EXPECT_EQ(peers[0].dstDeviceId, 1u);
    EXPECT_NE(peers[0].srcContextId, peers[0].dstContextId);
    EXPECT_GT(peers[0].end, peers[0].start);
    const auto copies = records<CopyRecord>(CUPTI_ACTIVITY_KIND_MEMCPY);
    ASSERT_EQ(copies.size(), 2u);
    EXPECT_EQ(copies[0].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
    EXPECT_EQ(copies[1].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
  });
}

TEST(StandinMemory, PtxIsCompiled) {
  alone("", [] {
    start({CUPTI_ACTIVITY_KIND_JIT});
    CUmodule module = nullptr;
    EXPECT_EQ(cuModuleLoadData(&module, ".version 8.0"), CUDA_SUCCESS);
    drain();
    const auto all = records<JitRecord>(CUPTI_ACTIVITY_KIND_JIT);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_GE(all[0].end - all[0].start, 100'000u);
    EXPECT_NE(all[0].correlationId, 0u);
  });
}

TEST(StandinMemory, CallsAreToldWhatTheyBelongTo) {
  alone("", [] {
    start({CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION});
    const auto kind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
    EXPECT_EQ(cuptiActivityPushExternalCorrelationId(kind, 7), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiActivityPushExternalCorrelationId(kind, 8), CUPTI_SUCCESS);
    launch(1, nullptr);
    uint64_t last = 0;
    EXPECT_EQ(cuptiActivityPopExternalCorrelationId(kind, &last), CUPTI_SUCCESS);
    EXPECT_EQ(last, 8u);
    launch(2, nullptr);
    EXPECT_EQ(cuptiActivityPopExternalCorrelationId(kind, &last), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiActivityPopExternalCorrelationId(kind, &last), CUPTI_ERROR_QUEUE_EMPTY);
    launch(3, nullptr);
    drain();
    const auto all =
        records<CUpti_ActivityExternalCorrelation>(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].externalId, 8u);
    EXPECT_EQ(all[1].externalId, 7u);
    EXPECT_EQ(all[0].correlationId, launchIds()[0]);
  });
}

TEST(StandinGraph, WhatIsCapturedRunsWhenTheGraphDoes) {
  alone("", [] {
    start({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
           CUPTI_ACTIVITY_KIND_MEMSET});
    CUstream first = stream(), second = stream();
    CUevent fork = nullptr, join = nullptr;
    cuEventCreate(&fork, 0);
    cuEventCreate(&join, 0);
    CUdeviceptr memory = 0;
    cuMemAlloc(&memory, 64);
    char host[64] = "captured", back[64] = {};
    EXPECT_EQ(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    launch(1, first);
    cuEventRecord(fork, first);
    cuStreamWaitEvent(second, fork, 0);
    EXPECT_EQ(cuMemcpyHtoDAsync(memory, host, 32, second), CUDA_SUCCESS);
    EXPECT_EQ(cuMemsetD8Async(memory + 32, 5, 32, second), CUDA_SUCCESS);
    cuEventRecord(join, second);
    cuStreamWaitEvent(first, join, 0);
    EXPECT_EQ(cuStreamSynchronize(first), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    EXPECT_EQ(cuStreamEndCapture(first, &graph), CUDA_SUCCESS);
    drain();
    EXPECT_EQ(kernels().size(), 0u);
#if CUDA_VERSION >= 12000
    EXPECT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
#else
    EXPECT_EQ(cuGraphInstantiate(&exec, graph, nullptr, nullptr, 0), CUDA_SUCCESS);
#endif
    EXPECT_EQ(cuGraphLaunch(exec, first), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyDtoH(back, memory, 64), CUDA_SUCCESS);
    EXPECT_STREQ(back, host);
    EXPECT_EQ(back[63], 5);
    EXPECT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
    drain();
    ASSERT_EQ(kernels().size(), 1u);
    const auto copies = records<CopyRecord>(CUPTI_ACTIVITY_KIND_MEMCPY);
    ASSERT_EQ(copies.size(), 2u);
    EXPECT_EQ(copies[0].graphId, kernels()[0].graphId);
    EXPECT_NE(copies[0].graphNodeId, kernels()[0].graphNodeId);
    EXPECT_EQ(copies[0].correlationId, kernels()[0].correlationId);
    EXPECT_EQ(copies[1].graphId, 0u);
    EXPECT_EQ(records<FillRecord>(CUPTI_ACTIVITY_KIND_MEMSET).size(), 1u);
    const auto& seen = client.resources;
    EXPECT_EQ(std::count(seen.begin(), seen.end(), CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED), 3);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED), 3);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING),
              1);
  });
}

}  // namespace
