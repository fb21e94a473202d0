// SPDX-License-Identifier: Apache-2.0
// The fields that a client can select of each kind's record, where they lie in the whole record,
// and how long they are in a record that has only what was selected: ids are longer there.
#include "standin_cupti.hpp"

namespace standin {
namespace {

#define FIELD(id, record, name, type) \
  { id, offsetof(record, name), sizeof(record::name), sizeof(type) }

constexpr Field kMemcpy[] = {
    FIELD(MEMCPY_FIELD_KIND, CopyRecord, kind, CUpti_ActivityKind),
    FIELD(MEMCPY_FIELD_COPY_KIND, CopyRecord, copyKind, uint8_t),
    FIELD(MEMCPY_FIELD_SRC_KIND, CopyRecord, srcKind, uint8_t),
    FIELD(MEMCPY_FIELD_DST_KIND, CopyRecord, dstKind, uint8_t),
    FIELD(MEMCPY_FIELD_FLAGS, CopyRecord, flags, uint8_t),
    FIELD(MEMCPY_FIELD_BYTES, CopyRecord, bytes, uint64_t),
    FIELD(MEMCPY_FIELD_START, CopyRecord, start, uint64_t),
    FIELD(MEMCPY_FIELD_END, CopyRecord, end, uint64_t),
    FIELD(MEMCPY_FIELD_DEVICE_ID, CopyRecord, deviceId, uint32_t),
    FIELD(MEMCPY_FIELD_CONTEXT_ID, CopyRecord, contextId, uint32_t),
    FIELD(MEMCPY_FIELD_STREAM_ID, CopyRecord, streamId, uint32_t),
    FIELD(MEMCPY_FIELD_CORRELATION_ID, CopyRecord, correlationId, uint64_t),
    FIELD(MEMCPY_FIELD_GRAPH_NODE_ID, CopyRecord, graphNodeId, uint64_t),
    FIELD(MEMCPY_FIELD_GRAPH_ID, CopyRecord, graphId, uint32_t),
    FIELD(MEMCPY_FIELD_CHANNEL_ID, CopyRecord, channelID, uint32_t),
    FIELD(MEMCPY_FIELD_CHANNEL_TYPE, CopyRecord, channelType, CUpti_ChannelType),
    FIELD(MEMCPY_FIELD_IS_DEVICE_LAUNCHED, CopyRecord, isDeviceLaunched, uint8_t),
    FIELD(MEMCPY_FIELD_COPY_COUNT, CopyRecord, copyCount, uint64_t),
    FIELD(MEMCPY_FIELD_SOURCE_GRAPH_ID, CopyRecord, sourceGraphId, uint32_t),
    FIELD(MEMCPY_FIELD_SOURCE_GRAPH_NODE_ID, CopyRecord, sourceGraphNodeId, uint64_t),
};

constexpr Field kMemcpy2[] = {
    FIELD(MEMCPY2_FIELD_KIND, PeerRecord, kind, CUpti_ActivityKind),
    FIELD(MEMCPY2_FIELD_COPY_KIND, PeerRecord, copyKind, uint8_t),
    FIELD(MEMCPY2_FIELD_SRC_KIND, PeerRecord, srcKind, uint8_t),
    FIELD(MEMCPY2_FIELD_DST_KIND, PeerRecord, dstKind, uint8_t),
    FIELD(MEMCPY2_FIELD_FLAGS, PeerRecord, flags, uint8_t),
    FIELD(MEMCPY2_FIELD_BYTES, PeerRecord, bytes, uint64_t),
    FIELD(MEMCPY2_FIELD_START, PeerRecord, start, uint64_t),
    FIELD(MEMCPY2_FIELD_END, PeerRecord, end, uint64_t),
    FIELD(MEMCPY2_FIELD_DEVICE_ID, PeerRecord, deviceId, uint32_t),
    FIELD(MEMCPY2_FIELD_CONTEXT_ID, PeerRecord, contextId, uint32_t),
    FIELD(MEMCPY2_FIELD_STREAM_ID, PeerRecord, streamId, uint32_t),
    FIELD(MEMCPY2_FIELD_SRC_DEVICE_ID, PeerRecord, srcDeviceId, uint32_t),
    FIELD(MEMCPY2_FIELD_SRC_CONTEXT_ID, PeerRecord, srcContextId, uint32_t),
    FIELD(MEMCPY2_FIELD_DST_DEVICE_ID, PeerRecord, dstDeviceId, uint32_t),
    FIELD(MEMCPY2_FIELD_DST_CONTEXT_ID, PeerRecord, dstContextId, uint32_t),
    FIELD(MEMCPY2_FIELD_CORRELATION_ID, PeerRecord, correlationId, uint64_t),
    FIELD(MEMCPY2_FIELD_GRAPH_NODE_ID, PeerRecord, graphNodeId, uint64_t),
    FIELD(MEMCPY2_FIELD_GRAPH_ID, PeerRecord, graphId, uint32_t),
    FIELD(MEMCPY2_FIELD_CHANNEL_ID, PeerRecord, channelID, uint32_t),
    FIELD(MEMCPY2_FIELD_CHANNEL_TYPE, PeerRecord, channelType, CUpti_ChannelType),
};

constexpr Field kMemset[] = {
    FIELD(MEMSET_FIELD_KIND, FillRecord, kind, CUpti_ActivityKind),
    FIELD(MEMSET_FIELD_VALUE, FillRecord, value, uint32_t),
    FIELD(MEMSET_FIELD_BYTES, FillRecord, bytes, uint64_t),
    FIELD(MEMSET_FIELD_START, FillRecord, start, uint64_t),
    FIELD(MEMSET_FIELD_END, FillRecord, end, uint64_t),
    FIELD(MEMSET_FIELD_DEVICE_ID, FillRecord, deviceId, uint32_t),
    FIELD(MEMSET_FIELD_CONTEXT_ID, FillRecord, contextId, uint32_t),
    FIELD(MEMSET_FIELD_STREAM_ID, FillRecord, streamId, uint32_t),
    FIELD(MEMSET_FIELD_CORRELATION_ID, FillRecord, correlationId, uint64_t),
    FIELD(MEMSET_FIELD_FLAGS, FillRecord, flags, uint16_t),
    FIELD(MEMSET_FIELD_MEMORY_KIND, FillRecord, memoryKind, uint16_t),
    FIELD(MEMSET_FIELD_GRAPH_NODE_ID, FillRecord, graphNodeId, uint64_t),
    FIELD(MEMSET_FIELD_GRAPH_ID, FillRecord, graphId, uint32_t),
    FIELD(MEMSET_FIELD_CHANNEL_ID, FillRecord, channelID, uint32_t),
    FIELD(MEMSET_FIELD_CHANNEL_TYPE, FillRecord, channelType, CUpti_ChannelType),
    FIELD(MEMSET_FIELD_IS_DEVICE_LAUNCHED, FillRecord, isDeviceLaunched, uint8_t),
    FIELD(MEMSET_FIELD_SOURCE_GRAPH_ID, FillRecord, sourceGraphId, uint32_t),
    FIELD(MEMSET_FIELD_SOURCE_GRAPH_NODE_ID, FillRecord, sourceGraphNodeId, uint64_t),
};

constexpr Field kMemory[] = {
    FIELD(MEMORY_FIELD_KIND, MemoryRecord, kind, CUpti_ActivityKind),
    FIELD(MEMORY_FIELD_OPERATION_TYPE, MemoryRecord, memoryOperationType,
          CUpti_ActivityMemoryOperationType),
    FIELD(MEMORY_FIELD_MEMORY_KIND, MemoryRecord, memoryKind, CUpti_ActivityMemoryKind),
    FIELD(MEMORY_FIELD_CORRELATION_ID, MemoryRecord, correlationId, uint64_t),
    FIELD(MEMORY_FIELD_ADDRESS, MemoryRecord, address, uint64_t),
    FIELD(MEMORY_FIELD_BYTES, MemoryRecord, bytes, uint64_t),
    FIELD(MEMORY_FIELD_TIMESTAMP, MemoryRecord, timestamp, uint64_t),
    FIELD(MEMORY_FIELD_PROCESS_ID, MemoryRecord, processId, uint32_t),
    FIELD(MEMORY_FIELD_DEVICE_ID, MemoryRecord, deviceId, uint32_t),
    FIELD(MEMORY_FIELD_CONTEXT_ID, MemoryRecord, contextId, uint32_t),
    FIELD(MEMORY_FIELD_STREAM_ID, MemoryRecord, streamId, uint32_t),
    FIELD(MEMORY_FIELD_IS_ASYNC, MemoryRecord, isAsync, uint32_t),
    FIELD(MEMORY_FIELD_POOL_TYPE, MemoryRecord, memoryPoolConfig.memoryPoolType,
          CUpti_ActivityMemoryPoolType),
    FIELD(MEMORY_FIELD_POOL_ADDRESS, MemoryRecord, memoryPoolConfig.address, uint64_t),
    FIELD(MEMORY_FIELD_POOL_RELEASE_THRESHOLD, MemoryRecord, memoryPoolConfig.releaseThreshold,
          uint64_t),
    FIELD(MEMORY_FIELD_POOL_SIZE, MemoryRecord, memoryPoolConfig.pool.size, uint64_t),
    FIELD(MEMORY_FIELD_POOL_PROCESS_ID, MemoryRecord, memoryPoolConfig.pool.processId, uint64_t),
    FIELD(MEMORY_FIELD_POOL_UTILIZED_SIZE, MemoryRecord, memoryPoolConfig.utilizedSize, uint64_t),
    FIELD(MEMORY_FIELD_SOURCE, MemoryRecord, source, const char*),
};

constexpr Field kMemoryPool[] = {
    FIELD(MEMORY_POOL_FIELD_KIND, PoolRecord, kind, CUpti_ActivityKind),
    FIELD(MEMORY_POOL_FIELD_OPERATION_TYPE, PoolRecord, memoryPoolOperationType,
          CUpti_ActivityMemoryPoolOperationType),
    FIELD(MEMORY_POOL_FIELD_POOL_TYPE, PoolRecord, memoryPoolType, CUpti_ActivityMemoryPoolType),
    FIELD(MEMORY_POOL_FIELD_CORRELATION_ID, PoolRecord, correlationId, uint64_t),
    FIELD(MEMORY_POOL_FIELD_PROCESS_ID, PoolRecord, processId, uint32_t),
    FIELD(MEMORY_POOL_FIELD_DEVICE_ID, PoolRecord, deviceId, uint32_t),
    FIELD(MEMORY_POOL_FIELD_MIN_BYTES_TO_KEEP, PoolRecord, minBytesToKeep, size_t),
    FIELD(MEMORY_POOL_FIELD_ADDRESS, PoolRecord, address, uint64_t),
    FIELD(MEMORY_POOL_FIELD_SIZE, PoolRecord, size, uint64_t),
    FIELD(MEMORY_POOL_FIELD_RELEASE_THRESHOLD, PoolRecord, releaseThreshold, uint64_t),
    FIELD(MEMORY_POOL_FIELD_TIMESTAMP, PoolRecord, timestamp, uint64_t),
    FIELD(MEMORY_POOL_FIELD_UTILIZED_SIZE, PoolRecord, utilizedSize, uint64_t),
    FIELD(MEMORY_POOL_FIELD_IS_MANAGED_POOL, PoolRecord, isManagedPool, uint8_t),
};

constexpr Field kKernel[] = {
    FIELD(KERNEL_FIELD_KIND, KernelRecord, kind, CUpti_ActivityKind),
    FIELD(KERNEL_FIELD_SHARED_MEMORY_CONFIG, KernelRecord, sharedMemoryConfig, uint8_t),
    FIELD(KERNEL_FIELD_REGISTERS_PER_THREAD, KernelRecord, registersPerThread, uint16_t),
    FIELD(KERNEL_FIELD_START, KernelRecord, start, uint64_t),
    FIELD(KERNEL_FIELD_END, KernelRecord, end, uint64_t),
    FIELD(KERNEL_FIELD_COMPLETED, KernelRecord, completed, uint64_t),
    FIELD(KERNEL_FIELD_DEVICE_ID, KernelRecord, deviceId, uint32_t),
    FIELD(KERNEL_FIELD_CONTEXT_ID, KernelRecord, contextId, uint64_t),
    FIELD(KERNEL_FIELD_STREAM_ID, KernelRecord, streamId, uint64_t),
    FIELD(KERNEL_FIELD_GRID_X, KernelRecord, gridX, int32_t),
    FIELD(KERNEL_FIELD_GRID_Y, KernelRecord, gridY, int32_t),
    FIELD(KERNEL_FIELD_GRID_Z, KernelRecord, gridZ, int32_t),
    FIELD(KERNEL_FIELD_BLOCK_X, KernelRecord, blockX, int32_t),
    FIELD(KERNEL_FIELD_BLOCK_Y, KernelRecord, blockY, int32_t),
    FIELD(KERNEL_FIELD_BLOCK_Z, KernelRecord, blockZ, int32_t),
    FIELD(KERNEL_FIELD_STATIC_SHARED_MEMORY, KernelRecord, staticSharedMemory, int32_t),
    FIELD(KERNEL_FIELD_DYNAMIC_SHARED_MEMORY, KernelRecord, dynamicSharedMemory, int32_t),
    FIELD(KERNEL_FIELD_LOCAL_MEMORY_PER_THREAD, KernelRecord, localMemoryPerThread, uint32_t),
    FIELD(KERNEL_FIELD_CORRELATION_ID, KernelRecord, correlationId, uint64_t),
    FIELD(KERNEL_FIELD_GRID_ID, KernelRecord, gridId, int64_t),
    FIELD(KERNEL_FIELD_NAME, KernelRecord, name, const char*),
    FIELD(KERNEL_FIELD_QUEUED, KernelRecord, queued, uint64_t),
    FIELD(KERNEL_FIELD_SUBMITTED, KernelRecord, submitted, uint64_t),
    FIELD(KERNEL_FIELD_LAUNCH_TYPE, KernelRecord, launchType, uint8_t),
    FIELD(KERNEL_FIELD_IS_SHARED_MEMORY_CARVEOUT_REQUESTED, KernelRecord,
          isSharedMemoryCarveoutRequested, uint8_t),
    FIELD(KERNEL_FIELD_SHARED_MEMORY_CARVEOUT_REQUESTED, KernelRecord,
          sharedMemoryCarveoutRequested, uint8_t),
    FIELD(KERNEL_FIELD_SHARED_MEMORY_EXECUTED, KernelRecord, sharedMemoryExecuted, uint32_t),
    FIELD(KERNEL_FIELD_GRAPH_NODE_ID, KernelRecord, graphNodeId, uint64_t),
    FIELD(KERNEL_FIELD_SHMEM_LIMIT_CONFIG, KernelRecord, shmemLimitConfig,
          CUpti_FuncShmemLimitConfig),
    FIELD(KERNEL_FIELD_GRAPH_ID, KernelRecord, graphId, uint32_t),
    FIELD(KERNEL_FIELD_ACCESS_POLICY_WINDOW, KernelRecord, pAccessPolicyWindow,
          CUaccessPolicyWindow*),
    FIELD(KERNEL_FIELD_CHANNEL_ID, KernelRecord, channelID, uint32_t),
    FIELD(KERNEL_FIELD_CHANNEL_TYPE, KernelRecord, channelType, CUpti_ChannelType),
    FIELD(KERNEL_FIELD_CLUSTER_X, KernelRecord, clusterX, int32_t),
    FIELD(KERNEL_FIELD_CLUSTER_Y, KernelRecord, clusterY, int32_t),
    FIELD(KERNEL_FIELD_CLUSTER_Z, KernelRecord, clusterZ, int32_t),
    FIELD(KERNEL_FIELD_CLUSTER_SCHEDULING_POLICY, KernelRecord, clusterSchedulingPolicy, uint32_t),
    FIELD(KERNEL_FIELD_LOCAL_MEMORY_TOTAL, KernelRecord, localMemoryTotal_v2, uint64_t),
    FIELD(KERNEL_FIELD_MAX_POTENTIAL_CLUSTER_SIZE, KernelRecord, maxPotentialClusterSize, uint32_t),
    FIELD(KERNEL_FIELD_MAX_ACTIVE_CLUSTERS, KernelRecord, maxActiveClusters, uint32_t),
    FIELD(KERNEL_FIELD_IS_DEVICE_LAUNCHED, KernelRecord, isDeviceLaunched, uint8_t),
    FIELD(KERNEL_FIELD_LAUNCH_PRIORITY, KernelRecord, priority, int32_t),
    FIELD(KERNEL_FIELD_EXECUTION_MODEL, KernelRecord, executionModel, uint32_t),
    FIELD(KERNEL_FIELD_SOURCE_GRAPH_ID, KernelRecord, sourceGraphId, uint32_t),
    FIELD(KERNEL_FIELD_SOURCE_GRAPH_NODE_ID, KernelRecord, sourceGraphNodeId, uint64_t),
};

constexpr Field kApi[] = {
    FIELD(API_FIELD_KIND, CUpti_ActivityAPI, kind, CUpti_ActivityKind),
    FIELD(API_FIELD_CBID, CUpti_ActivityAPI, cbid, CUpti_CallbackId),
    FIELD(API_FIELD_START, CUpti_ActivityAPI, start, uint64_t),
    FIELD(API_FIELD_END, CUpti_ActivityAPI, end, uint64_t),
    FIELD(API_FIELD_PROCESS_ID, CUpti_ActivityAPI, processId, uint32_t),
    FIELD(API_FIELD_THREAD_ID, CUpti_ActivityAPI, threadId, uint64_t),
    FIELD(API_FIELD_CORRELATION_ID, CUpti_ActivityAPI, correlationId, uint64_t),
    FIELD(API_FIELD_RETURN_VALUE, CUpti_ActivityAPI, returnValue, uint32_t),
};

constexpr Field kContext[] = {
    FIELD(CONTEXT_FIELD_KIND, ContextRecord, kind, CUpti_ActivityKind),
    FIELD(CONTEXT_FIELD_CONTEXT_ID, ContextRecord, contextId, uint32_t),
    FIELD(CONTEXT_FIELD_DEVICE_ID, ContextRecord, deviceId, uint32_t),
    FIELD(CONTEXT_FIELD_COMPUTE_API_KIND, ContextRecord, computeApiKind, uint16_t),
    FIELD(CONTEXT_FIELD_NULL_STREAM_ID, ContextRecord, nullStreamId, uint32_t),
    FIELD(CONTEXT_FIELD_PARENT_CONTEXT_ID, ContextRecord, parentContextId, uint32_t),
    FIELD(CONTEXT_FIELD_IS_GREEN_CONTEXT, ContextRecord, isGreenContext, uint8_t),
    FIELD(CONTEXT_FIELD_NUM_MULTIPROCESSORS, ContextRecord, numMultiprocessors, uint16_t),
    FIELD(CONTEXT_FIELD_CIG_MODE, ContextRecord, cigMode, CUpti_ContextCigMode),
    FIELD(CONTEXT_FIELD_PROCESS_ID, ContextRecord, processId, uint32_t),
};

constexpr Field kDevice[] = {
    FIELD(DEVICE_FIELD_KIND, DeviceRecord, kind, CUpti_ActivityKind),
    FIELD(DEVICE_FIELD_FLAGS, DeviceRecord, flags, CUpti_ActivityFlag),
    FIELD(DEVICE_FIELD_GLOBAL_MEMORY_BANDWIDTH, DeviceRecord, globalMemoryBandwidth, uint64_t),
    FIELD(DEVICE_FIELD_GLOBAL_MEMORY_SIZE, DeviceRecord, globalMemorySize, uint64_t),
    FIELD(DEVICE_FIELD_CONSTANT_MEMORY_SIZE, DeviceRecord, constantMemorySize, uint32_t),
    FIELD(DEVICE_FIELD_L2_CACHE_SIZE, DeviceRecord, l2CacheSize, uint32_t),
    FIELD(DEVICE_FIELD_NUM_THREADS_PER_WARP, DeviceRecord, numThreadsPerWarp, uint32_t),
    FIELD(DEVICE_FIELD_CORE_CLOCK_RATE, DeviceRecord, coreClockRate, uint32_t),
    FIELD(DEVICE_FIELD_NUM_MEMCPY_ENGINES, DeviceRecord, numMemcpyEngines, uint32_t),
    FIELD(DEVICE_FIELD_NUM_MULTIPROCESSORS, DeviceRecord, numMultiprocessors, uint32_t),
    FIELD(DEVICE_FIELD_MAX_IPC, DeviceRecord, maxIPC, uint32_t),
    FIELD(DEVICE_FIELD_MAX_WARPS_PER_MULTIPROCESSOR, DeviceRecord, maxWarpsPerMultiprocessor,
          uint32_t),
    FIELD(DEVICE_FIELD_MAX_BLOCKS_PER_MULTIPROCESSOR, DeviceRecord, maxBlocksPerMultiprocessor,
          uint32_t),
    FIELD(DEVICE_FIELD_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, DeviceRecord,
          maxSharedMemoryPerMultiprocessor, uint32_t),
    FIELD(DEVICE_FIELD_MAX_REGISTERS_PER_MULTIPROCESSOR, DeviceRecord,
          maxRegistersPerMultiprocessor, uint32_t),
    FIELD(DEVICE_FIELD_MAX_REGISTERS_PER_BLOCK, DeviceRecord, maxRegistersPerBlock, uint32_t),
    FIELD(DEVICE_FIELD_MAX_SHARED_MEMORY_PER_BLOCK, DeviceRecord, maxSharedMemoryPerBlock,
          uint32_t),
    FIELD(DEVICE_FIELD_MAX_THREADS_PER_BLOCK, DeviceRecord, maxThreadsPerBlock, uint32_t),
    FIELD(DEVICE_FIELD_MAX_BLOCK_DIM_X, DeviceRecord, maxBlockDimX, uint32_t),
    FIELD(DEVICE_FIELD_MAX_BLOCK_DIM_Y, DeviceRecord, maxBlockDimY, uint32_t),
    FIELD(DEVICE_FIELD_MAX_BLOCK_DIM_Z, DeviceRecord, maxBlockDimZ, uint32_t),
    FIELD(DEVICE_FIELD_MAX_GRID_DIM_X, DeviceRecord, maxGridDimX, uint32_t),
    FIELD(DEVICE_FIELD_MAX_GRID_DIM_Y, DeviceRecord, maxGridDimY, uint32_t),
    FIELD(DEVICE_FIELD_MAX_GRID_DIM_Z, DeviceRecord, maxGridDimZ, uint32_t),
    FIELD(DEVICE_FIELD_COMPUTE_CAPABILITY_MAJOR, DeviceRecord, computeCapabilityMajor, uint32_t),
    FIELD(DEVICE_FIELD_COMPUTE_CAPABILITY_MINOR, DeviceRecord, computeCapabilityMinor, uint32_t),
    FIELD(DEVICE_FIELD_ID, DeviceRecord, id, uint32_t),
    FIELD(DEVICE_FIELD_ECC_ENABLED, DeviceRecord, eccEnabled, uint32_t),
    FIELD(DEVICE_FIELD_UUID, DeviceRecord, uuid, CUuuid),
    FIELD(DEVICE_FIELD_NAME, DeviceRecord, name, const char*),
    FIELD(DEVICE_FIELD_IS_CUDA_VISIBLE, DeviceRecord, isCudaVisible, uint8_t),
    FIELD(DEVICE_FIELD_IS_MIG_ENABLED, DeviceRecord, isMigEnabled, uint8_t),
    FIELD(DEVICE_FIELD_GPU_INSTANCE_ID, DeviceRecord, gpuInstanceId, uint32_t),
    FIELD(DEVICE_FIELD_COMPUTE_INSTANCE_ID, DeviceRecord, computeInstanceId, uint32_t),
    FIELD(DEVICE_FIELD_MIG_UUID, DeviceRecord, migUuid, CUuuid),
    FIELD(DEVICE_FIELD_IS_NUMA_NODE, DeviceRecord, isNumaNode, uint32_t),
    FIELD(DEVICE_FIELD_NUMA_ID, DeviceRecord, numaId, uint32_t),
    FIELD(DEVICE_FIELD_NUM_TPCS, DeviceRecord, numTpcs, uint32_t),
};

constexpr Field kOverhead[] = {
    FIELD(OVERHEAD_FIELD_KIND, OverheadRecord, kind, CUpti_ActivityKind),
    FIELD(OVERHEAD_FIELD_OVERHEAD_KIND, OverheadRecord, overheadKind, CUpti_ActivityOverheadKind),
    FIELD(OVERHEAD_FIELD_PROCESS_ID, OverheadRecord, objectId.pt.processId, uint32_t),
    FIELD(OVERHEAD_FIELD_THREAD_ID, OverheadRecord, objectId.pt.threadId, uint64_t),
    FIELD(OVERHEAD_FIELD_START, OverheadRecord, start, uint64_t),
    FIELD(OVERHEAD_FIELD_END, OverheadRecord, end, uint64_t),
    FIELD(OVERHEAD_FIELD_CORRELATION_ID, OverheadRecord, correlationId, uint64_t),
    FIELD(OVERHEAD_FIELD_OVERHEAD_DATA, OverheadRecord, overheadData, void*),
};

constexpr Field kCudaEvent[] = {
    FIELD(CUDA_EVENT_FIELD_KIND, EventRecord, kind, CUpti_ActivityKind),
    FIELD(CUDA_EVENT_FIELD_CORRELATION_ID, EventRecord, correlationId, uint64_t),
    FIELD(CUDA_EVENT_FIELD_CONTEXT_ID, EventRecord, contextId, uint32_t),
    FIELD(CUDA_EVENT_FIELD_STREAM_ID, EventRecord, streamId, uint32_t),
    FIELD(CUDA_EVENT_FIELD_EVENT_ID, EventRecord, eventId, uint64_t),
    FIELD(CUDA_EVENT_FIELD_DEVICE_ID, EventRecord, deviceId, uint32_t),
    FIELD(CUDA_EVENT_FIELD_DEVICE_TIMESTAMP, EventRecord, deviceTimestamp, uint64_t),
    FIELD(CUDA_EVENT_FIELD_CUDA_EVENT_SYNC_ID, EventRecord, cudaEventSyncId, uint64_t),
    FIELD(CUDA_EVENT_FIELD_GRAPH_NODE_ID, EventRecord, graphNodeId, uint64_t),
    FIELD(CUDA_EVENT_FIELD_GRAPH_ID, EventRecord, graphId, uint32_t),
    FIELD(CUDA_EVENT_FIELD_SOURCE_GRAPH_ID, EventRecord, sourceGraphId, uint32_t),
    FIELD(CUDA_EVENT_FIELD_SOURCE_GRAPH_NODE_ID, EventRecord, sourceGraphNodeId, uint64_t),
};

constexpr Field kStream[] = {
    FIELD(STREAM_FIELD_KIND, CUpti_ActivityStream, kind, CUpti_ActivityKind),
    FIELD(STREAM_FIELD_CONTEXT_ID, CUpti_ActivityStream, contextId, uint32_t),
    FIELD(STREAM_FIELD_STREAM_ID, CUpti_ActivityStream, streamId, uint32_t),
    FIELD(STREAM_FIELD_PRIORITY, CUpti_ActivityStream, priority, int32_t),
    FIELD(STREAM_FIELD_FLAG, CUpti_ActivityStream, flag, CUpti_ActivityStreamFlag),
    FIELD(STREAM_FIELD_CORRELATION_ID, CUpti_ActivityStream, correlationId, uint64_t),
};

constexpr Field kSynchronization[] = {
    FIELD(SYNCHRONIZATION_FIELD_KIND, SyncRecord, kind, CUpti_ActivityKind),
    FIELD(SYNCHRONIZATION_FIELD_TYPE, SyncRecord, type, CUpti_ActivitySynchronizationType),
    FIELD(SYNCHRONIZATION_FIELD_START, SyncRecord, start, uint64_t),
    FIELD(SYNCHRONIZATION_FIELD_END, SyncRecord, end, uint64_t),
    FIELD(SYNCHRONIZATION_FIELD_CORRELATION_ID, SyncRecord, correlationId, uint64_t),
    FIELD(SYNCHRONIZATION_FIELD_CONTEXT_ID, SyncRecord, contextId, uint32_t),
    FIELD(SYNCHRONIZATION_FIELD_STREAM_ID, SyncRecord, streamId, uint32_t),
    FIELD(SYNCHRONIZATION_FIELD_CUDA_EVENT_ID, SyncRecord, cudaEventId, uint64_t),
    FIELD(SYNCHRONIZATION_FIELD_CUDA_EVENT_SYNC_ID, SyncRecord, cudaEventSyncId, uint64_t),
    FIELD(SYNCHRONIZATION_FIELD_RETURN_VALUE, SyncRecord, returnValue, uint32_t),
};

constexpr Field kExternalCorrelation[] = {
    FIELD(EXTERNAL_CORRELATION_FIELD_KIND, CUpti_ActivityExternalCorrelation, kind,
          CUpti_ActivityKind),
    FIELD(EXTERNAL_CORRELATION_FIELD_EXTERNAL_KIND, CUpti_ActivityExternalCorrelation, externalKind,
          CUpti_ExternalCorrelationKind),
    FIELD(EXTERNAL_CORRELATION_FIELD_EXTERNAL_ID, CUpti_ActivityExternalCorrelation, externalId,
          uint64_t),
    FIELD(EXTERNAL_CORRELATION_FIELD_CORRELATION_ID, CUpti_ActivityExternalCorrelation,
          correlationId, uint64_t),
};

constexpr Field kJit[] = {
    FIELD(JIT_FIELD_KIND, JitRecord, kind, CUpti_ActivityKind),
    FIELD(JIT_FIELD_ENTRY_TYPE, JitRecord, jitEntryType, CUpti_ActivityJitEntryType),
    FIELD(JIT_FIELD_OPERATION_TYPE, JitRecord, jitOperationType, CUpti_ActivityJitOperationType),
    FIELD(JIT_FIELD_DEVICE_ID, JitRecord, deviceId, uint32_t),
    FIELD(JIT_FIELD_START, JitRecord, start, uint64_t),
    FIELD(JIT_FIELD_END, JitRecord, end, uint64_t),
    FIELD(JIT_FIELD_CORRELATION_ID, JitRecord, correlationId, uint64_t),
    FIELD(JIT_FIELD_OPERATION_CORRELATION_ID, JitRecord, jitOperationCorrelationId, uint64_t),
    FIELD(JIT_FIELD_CACHE_SIZE, JitRecord, cacheSize, uint64_t),
    FIELD(JIT_FIELD_CACHE_PATH, JitRecord, cachePath, const char*),
    FIELD(JIT_FIELD_PROCESS_ID, JitRecord, processId, uint32_t),
    FIELD(JIT_FIELD_THREAD_ID, JitRecord, threadId, uint64_t),
};

constexpr Field kGraphTrace[] = {
    FIELD(GRAPH_TRACE_FIELD_KIND, GraphRecord, kind, CUpti_ActivityKind),
    FIELD(GRAPH_TRACE_FIELD_CORRELATION_ID, GraphRecord, correlationId, uint64_t),
    FIELD(GRAPH_TRACE_FIELD_START, GraphRecord, start, uint64_t),
    FIELD(GRAPH_TRACE_FIELD_END, GraphRecord, end, uint64_t),
    FIELD(GRAPH_TRACE_FIELD_DEVICE_ID, GraphRecord, deviceId, uint32_t),
    FIELD(GRAPH_TRACE_FIELD_GRAPH_ID, GraphRecord, graphId, uint32_t),
    FIELD(GRAPH_TRACE_FIELD_CONTEXT_ID, GraphRecord, contextId, uint32_t),
    FIELD(GRAPH_TRACE_FIELD_STREAM_ID, GraphRecord, streamId, uint32_t),
    FIELD(GRAPH_TRACE_FIELD_END_DEVICE_ID, GraphRecord, endDeviceId, uint32_t),
    FIELD(GRAPH_TRACE_FIELD_END_CONTEXT_ID, GraphRecord, endContextId, uint32_t),
};

constexpr Field kUvmCounter[] = {
    FIELD(UVM_COUNTER_FIELD_KIND, UnifiedRecord, kind, CUpti_ActivityKind),
    FIELD(UVM_COUNTER_FIELD_COUNTER_KIND, UnifiedRecord, counterKind,
          CUpti_ActivityUnifiedMemoryCounterKind),
    FIELD(UVM_COUNTER_FIELD_VALUE, UnifiedRecord, value, uint64_t),
    FIELD(UVM_COUNTER_FIELD_START, UnifiedRecord, start, uint64_t),
    FIELD(UVM_COUNTER_FIELD_END, UnifiedRecord, end, uint64_t),
    FIELD(UVM_COUNTER_FIELD_ADDRESS, UnifiedRecord, address, uint64_t),
    FIELD(UVM_COUNTER_FIELD_SRC_ID, UnifiedRecord, srcId, uint32_t),
    FIELD(UVM_COUNTER_FIELD_DST_ID, UnifiedRecord, dstId, uint32_t),
    FIELD(UVM_COUNTER_FIELD_STREAM_ID, UnifiedRecord, streamId, uint32_t),
    FIELD(UVM_COUNTER_FIELD_PROCESS_ID, UnifiedRecord, processId, uint32_t),
    FIELD(UVM_COUNTER_FIELD_FLAGS, UnifiedRecord, flags, uint32_t),
    FIELD(UVM_COUNTER_FIELD_PROCESSORS, UnifiedRecord, processors, uint64_t[5]),
};

#undef FIELD

}  // namespace

std::span<const Field> fieldsOf(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return kMemcpy;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return kMemcpy2;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return kMemset;
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return kMemory;
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
      return kMemoryPool;
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
      return kKernel;
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return kApi;
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return kContext;
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return kDevice;
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return kOverhead;
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return kCudaEvent;
    case CUPTI_ACTIVITY_KIND_STREAM:
      return kStream;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return kSynchronization;
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return kExternalCorrelation;
    case CUPTI_ACTIVITY_KIND_JIT:
      return kJit;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return kGraphTrace;
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
      return kUvmCounter;
    default:
      return {};
  }
}

}  // namespace standin
