// SPDX-License-Identifier: Apache-2.0
// What the agent declares of CUPTI (agents/cuda/cupti.hpp, cupti_v2.hpp), compared by the compiler
// with each version's own headers.
#include <cstddef>
#include <cstdio>
#include <type_traits>

#include "standin_records.hpp"
#include "tracesmith/capture/agents/cuda/cupti_v2.hpp"
#include "tracesmith/capture/agents/cuda/virtual_memory.hpp"

namespace {

namespace cupti = tracesmith::agent::cupti;

#define SAME(ours, field, theirs, their_field)                                  \
  static_assert(offsetof(cupti::ours, field) == offsetof(theirs, their_field)); \
  static_assert(sizeof(cupti::ours::field) == sizeof(theirs::their_field))
#define VALUE(ours, theirs) static_assert(static_cast<int>(cupti::ours) == static_cast<int>(theirs))

SAME(CallbackData, site, CUpti_CallbackData, callbackSite);
SAME(CallbackData, function, CUpti_CallbackData, functionName);
SAME(CallbackData, parameters, CUpti_CallbackData, functionParams);
SAME(CallbackData, result, CUpti_CallbackData, functionReturnValue);
SAME(CallbackData, symbol, CUpti_CallbackData, symbolName);
SAME(CallbackData, context, CUpti_CallbackData, context);
SAME(CallbackData, context_id, CUpti_CallbackData, contextUid);
SAME(CallbackData, scratch, CUpti_CallbackData, correlationData);
SAME(CallbackData, correlation, CUpti_CallbackData, correlationId);
SAME(MemoryLocation, type, CUmemLocation, type);
SAME(MemoryLocation, id, CUmemLocation, id);
SAME(AllocationProperties, type, CUmemAllocationProp, type);
SAME(AllocationProperties, location, CUmemAllocationProp, location);
SAME(MemCreateParams, handle, cuMemCreate_params, handle);
SAME(MemCreateParams, bytes, cuMemCreate_params, size);
SAME(MemCreateParams, properties, cuMemCreate_params, prop);
SAME(MemReleaseParams, handle, cuMemRelease_params, handle);
SAME(MemMapParams, address, cuMemMap_params, ptr);
SAME(MemMapParams, bytes, cuMemMap_params, size);
SAME(MemMapParams, offset, cuMemMap_params, offset);
SAME(MemMapParams, handle, cuMemMap_params, handle);
SAME(MemUnmapParams, address, cuMemUnmap_params, ptr);
SAME(MemUnmapParams, bytes, cuMemUnmap_params, size);
SAME(MemRetainParams, handle, cuMemRetainAllocationHandle_params, handle);
SAME(MemRetainParams, address, cuMemRetainAllocationHandle_params, addr);
SAME(MemImportParams, handle, cuMemImportFromShareableHandle_params, handle);
static_assert(sizeof(*cupti::MemImportParams::handle) == sizeof(CUmemGenericAllocationHandle));
VALUE(kLocationDevice, CU_MEM_LOCATION_TYPE_DEVICE);
#if CUDA_VERSION >= 12010
SAME(MemImportParams, handle, cuMulticastCreate_params, mcHandle);
#endif
#if CUDA_VERSION >= 13050
SAME(MemoryLocation, device_of_domain, CUmemLocation, localized.deviceId);
VALUE(kLocationLocalityDomain, CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN);
#endif

SAME(ResourceData, context, CUpti_ResourceData, context);
SAME(ResourceData, stream, CUpti_ResourceData, resourceHandle);
SAME(ResourceData, descriptor, CUpti_ResourceData, resourceDescriptor);
SAME(GraphData, node, CUpti_GraphData, node);
SAME(GraphData, original_node, CUpti_GraphData, originalNode);
SAME(GraphData, node_type, CUpti_GraphData, nodeType);
SAME(GraphData, exec, CUpti_GraphData, graphExec);
SAME(ModuleData, id, CUpti_ModuleResourceData, moduleId);
SAME(ModuleData, bytes, CUpti_ModuleResourceData, cubinSize);
SAME(ModuleData, image, CUpti_ModuleResourceData, pCubin);
VALUE(kDriverApi, CUPTI_CB_DOMAIN_DRIVER_API);
VALUE(kRuntimeApi, CUPTI_CB_DOMAIN_RUNTIME_API);
VALUE(kResource, CUPTI_CB_DOMAIN_RESOURCE);
VALUE(kEnter, CUPTI_API_ENTER);
VALUE(kExit, CUPTI_API_EXIT);
VALUE(kInitFinished, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);
VALUE(kModuleLoaded, CUPTI_CBID_RESOURCE_MODULE_LOADED);
VALUE(kModuleUnloadStarting, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
VALUE(kGraphNodeCreated, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
VALUE(kGraphNodeCloned, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);

VALUE(kSuccess, CUPTI_SUCCESS);
VALUE(kInvalidParameter, CUPTI_ERROR_INVALID_PARAMETER);
VALUE(kNotSupported, CUPTI_ERROR_NOT_SUPPORTED);
VALUE(kNotCompatible, CUPTI_ERROR_NOT_COMPATIBLE);
VALUE(kNotInitialized, CUPTI_ERROR_NOT_INITIALIZED);
VALUE(kInsufficientPrivileges, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
VALUE(kUnknownError, CUPTI_ERROR_UNKNOWN);
VALUE(kMultipleSubscribers, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
VALUE(kAttributeZeroedBuffer, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
VALUE(kMemcpy, CUPTI_ACTIVITY_KIND_MEMCPY);
VALUE(kMemset, CUPTI_ACTIVITY_KIND_MEMSET);
VALUE(kDevice, CUPTI_ACTIVITY_KIND_DEVICE);
VALUE(kContext, CUPTI_ACTIVITY_KIND_CONTEXT);
VALUE(kConcurrentKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
VALUE(kOverhead, CUPTI_ACTIVITY_KIND_OVERHEAD);
VALUE(kMemcpyPeer, CUPTI_ACTIVITY_KIND_MEMCPY2);
VALUE(kUnifiedMemory, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
VALUE(kSynchronization, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
VALUE(kCudaEvent, CUPTI_ACTIVITY_KIND_CUDA_EVENT);
VALUE(kMemory, CUPTI_ACTIVITY_KIND_MEMORY2);
VALUE(kMemoryPool, CUPTI_ACTIVITY_KIND_MEMORY_POOL);
VALUE(kJit, CUPTI_ACTIVITY_KIND_JIT);
VALUE(kGraphTrace, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);

SAME(Kernel, kind, KernelRecord, kind);
SAME(Kernel, registers, KernelRecord, registersPerThread);
SAME(Kernel, start, KernelRecord, start);
SAME(Kernel, end, KernelRecord, end);
SAME(Kernel, device, KernelRecord, deviceId);
SAME(Kernel, context, KernelRecord, contextId);
SAME(Kernel, stream, KernelRecord, streamId);
static_assert(offsetof(cupti::Kernel, grid) == offsetof(KernelRecord, gridX));
static_assert(offsetof(cupti::Kernel, block) == offsetof(KernelRecord, blockX));
static_assert(offsetof(cupti::Kernel, cluster) == offsetof(KernelRecord, clusterX));
SAME(Kernel, static_shared, KernelRecord, staticSharedMemory);
SAME(Kernel, dynamic_shared, KernelRecord, dynamicSharedMemory);
SAME(Kernel, local_per_thread, KernelRecord, localMemoryPerThread);
SAME(Kernel, correlation, KernelRecord, correlationId);
SAME(Kernel, name, KernelRecord, name);
SAME(Kernel, queued, KernelRecord, queued);
SAME(Kernel, submitted, KernelRecord, submitted);
SAME(Kernel, graph_node, KernelRecord, graphNodeId);
SAME(Kernel, graph, KernelRecord, graphId);

SAME(Memcpy, copy_kind, CopyRecord, copyKind);
SAME(Memcpy, bytes, CopyRecord, bytes);
SAME(Memcpy, start, CopyRecord, start);
SAME(Memcpy, end, CopyRecord, end);
SAME(Memcpy, device, CopyRecord, deviceId);
SAME(Memcpy, context, CopyRecord, contextId);
SAME(Memcpy, stream, CopyRecord, streamId);
SAME(Memcpy, correlation, CopyRecord, correlationId);
SAME(MemcpyPeer, copy_kind, CUpti_ActivityMemcpyPtoP4, copyKind);
SAME(MemcpyPeer, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
SAME(MemcpyPeer, start, CUpti_ActivityMemcpyPtoP4, start);
SAME(MemcpyPeer, stream, CUpti_ActivityMemcpyPtoP4, streamId);
SAME(MemcpyPeer, source_device, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
SAME(MemcpyPeer, destination_device, CUpti_ActivityMemcpyPtoP4, dstDeviceId);
SAME(MemcpyPeer, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
SAME(Memset, value, FillRecord, value);
SAME(Memset, bytes, FillRecord, bytes);
SAME(Memset, start, FillRecord, start);
SAME(Memset, stream, FillRecord, streamId);
SAME(Memset, correlation, FillRecord, correlationId);
SAME(Synchronization, type, SyncRecord, type);
SAME(Synchronization, start, SyncRecord, start);
SAME(Synchronization, correlation, SyncRecord, correlationId);
SAME(Synchronization, context, SyncRecord, contextId);
SAME(Synchronization, stream, SyncRecord, streamId);
SAME(Synchronization, event, SyncRecord, cudaEventId);
SAME(CudaEvent, correlation, EventRecord, correlationId);
SAME(CudaEvent, context, EventRecord, contextId);
SAME(CudaEvent, stream, EventRecord, streamId);
SAME(CudaEvent, event, EventRecord, eventId);
// What says whether a version has them is the length of its records.
#if CUDA_VERSION >= 13000
SAME(Synchronization, event_sync, SyncRecord, cudaEventSyncId);
SAME(CudaEvent, device, EventRecord, deviceId);
SAME(CudaEvent, device_time, EventRecord, deviceTimestamp);
SAME(CudaEvent, event_sync, EventRecord, cudaEventSyncId);
#else
static_assert(sizeof(SyncRecord) == offsetof(cupti::Synchronization, event_sync));
static_assert(sizeof(EventRecord) == offsetof(cupti::CudaEvent, device));
#endif
SAME(Memory, operation, MemoryRecord, memoryOperationType);
SAME(Memory, memory_kind, MemoryRecord, memoryKind);
SAME(Memory, correlation, MemoryRecord, correlationId);
SAME(Memory, address, MemoryRecord, address);
SAME(Memory, bytes, MemoryRecord, bytes);
SAME(Memory, time, MemoryRecord, timestamp);
SAME(Memory, device, MemoryRecord, deviceId);
SAME(Memory, context, MemoryRecord, contextId);
SAME(Memory, stream, MemoryRecord, streamId);
SAME(Memory, name, MemoryRecord, name);
SAME(Memory, is_async, MemoryRecord, isAsync);
SAME(Memory, pool_kind, MemoryRecord, memoryPoolConfig.memoryPoolType);
SAME(Memory, pool, MemoryRecord, memoryPoolConfig.address);
SAME(Memory, pool_threshold, MemoryRecord, memoryPoolConfig.releaseThreshold);
SAME(Memory, pool_bytes, MemoryRecord, memoryPoolConfig.pool.size);
SAME(Memory, pool_used, MemoryRecord, memoryPoolConfig.utilizedSize);
SAME(MemoryPool, operation, PoolRecord, memoryPoolOperationType);
SAME(MemoryPool, pool_kind, PoolRecord, memoryPoolType);
SAME(MemoryPool, correlation, PoolRecord, correlationId);
SAME(MemoryPool, process, PoolRecord, processId);
SAME(MemoryPool, device, PoolRecord, deviceId);
SAME(MemoryPool, kept_bytes, PoolRecord, minBytesToKeep);
SAME(MemoryPool, address, PoolRecord, address);
SAME(MemoryPool, bytes, PoolRecord, size);
SAME(MemoryPool, release_threshold, PoolRecord, releaseThreshold);
SAME(MemoryPool, time, PoolRecord, timestamp);
SAME(MemoryPool, used, PoolRecord, utilizedSize);
SAME(UnifiedMemory, counter, UnifiedRecord, counterKind);
SAME(UnifiedMemory, value, UnifiedRecord, value);
SAME(UnifiedMemory, start, UnifiedRecord, start);
SAME(UnifiedMemory, end, UnifiedRecord, end);
SAME(UnifiedMemory, address, UnifiedRecord, address);
SAME(UnifiedMemory, source, UnifiedRecord, srcId);
SAME(UnifiedMemory, destination, UnifiedRecord, dstId);
SAME(Jit, entry, JitRecord, jitEntryType);
SAME(Jit, operation, JitRecord, jitOperationType);
SAME(Jit, device, JitRecord, deviceId);
SAME(Jit, start, JitRecord, start);
SAME(Jit, end, JitRecord, end);
SAME(Jit, correlation, JitRecord, correlationId);
SAME(GraphTrace, kind, GraphRecord, kind);
SAME(GraphTrace, correlation, GraphRecord, correlationId);
SAME(GraphTrace, start, GraphRecord, start);
SAME(GraphTrace, end, GraphRecord, end);
SAME(GraphTrace, device, GraphRecord, deviceId);
SAME(GraphTrace, graph, GraphRecord, graphId);
SAME(GraphTrace, context, GraphRecord, contextId);
SAME(GraphTrace, stream, GraphRecord, streamId);
SAME(Overhead, overhead, OverheadRecord, overheadKind);
SAME(Overhead, start, OverheadRecord, start);
SAME(Overhead, end, OverheadRecord, end);
#if CUDA_VERSION >= 12040
SAME(Overhead, correlation, OverheadRecord, correlationId);
SAME(Overhead, data, OverheadRecord, overheadData);
static_assert(CUPTI_API_VERSION >= cupti::kFirstWithOverheadData);
#else
static_assert(sizeof(OverheadRecord) == offsetof(cupti::Overhead, correlation));
static_assert(CUPTI_API_VERSION < cupti::kFirstWithOverheadData);
#endif
SAME(Context, id, ContextRecord, contextId);
SAME(Context, device, ContextRecord, deviceId);
SAME(Context, null_stream, ContextRecord, nullStreamId);
SAME(Device, memory_bytes, DeviceRecord, globalMemorySize);
SAME(Device, warp_size, DeviceRecord, numThreadsPerWarp);
SAME(Device, core_clock_khz, DeviceRecord, coreClockRate);
SAME(Device, multiprocessors, DeviceRecord, numMultiprocessors);
SAME(Device, warps_per_multiprocessor, DeviceRecord, maxWarpsPerMultiprocessor);
SAME(Device, shared_bytes_per_multiprocessor, DeviceRecord, maxSharedMemoryPerMultiprocessor);
SAME(Device, registers_per_multiprocessor, DeviceRecord, maxRegistersPerMultiprocessor);
SAME(Device, threads_per_block, DeviceRecord, maxThreadsPerBlock);
SAME(Device, compute_major, DeviceRecord, computeCapabilityMajor);
SAME(Device, compute_minor, DeviceRecord, computeCapabilityMinor);
SAME(Device, id, DeviceRecord, id);
SAME(Device, uuid, DeviceRecord, uuid);
SAME(Device, name, DeviceRecord, name);

SAME(UnifiedMemoryConfig, scope, CUpti_ActivityUnifiedMemoryCounterConfig, scope);
SAME(UnifiedMemoryConfig, counter, CUpti_ActivityUnifiedMemoryCounterConfig, kind);
SAME(UnifiedMemoryConfig, device, CUpti_ActivityUnifiedMemoryCounterConfig, deviceId);
SAME(UnifiedMemoryConfig, enable, CUpti_ActivityUnifiedMemoryCounterConfig, enable);
VALUE(kAllDevices, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES);
static_assert(sizeof(cupti::UnifiedMemoryConfig) ==
              sizeof(CUpti_ActivityUnifiedMemoryCounterConfig));
#if CUDA_VERSION >= 13000
SAME(SubscriberParams, size, CUpti_SubscriberParams, structSize);
SAME(SubscriberParams, name, CUpti_SubscriberParams, subscriberName);
SAME(SubscriberParams, other_name, CUpti_SubscriberParams, oldSubscriberName);
SAME(SubscriberParams, other_name_bytes, CUpti_SubscriberParams, oldSubscriberSize);
#endif

#if CUDA_VERSION >= 13050
// What is declared of CUDA 13.3 and later: sizes, places and numbers.
#define SAME_SIZE(ours, theirs) static_assert(sizeof(cupti::ours) == sizeof(theirs))
SAME(SubscriberParams, allows_others, CUpti_SubscriberParams, allowMultipleSubscribers);
SAME_SIZE(SubscriberParams, CUpti_SubscriberParams);
SAME(FieldSelection, count, CUpti_ActivityFieldSelection, numFields);
SAME(FieldSelection, fields, CUpti_ActivityFieldSelection, pFieldIds);
SAME_SIZE(FieldSelection, CUpti_ActivityFieldSelection);
SAME(ActivityConfig, selection, CUpti_ActivityConfig, fieldSelection);
static_assert(offsetof(CUpti_ActivityConfig, pKindOptions) == sizeof(cupti::ActivityConfig));
SAME(FieldLayout, field, CUpti_ActivityFieldLayoutEntry, fieldId);
SAME(FieldLayout, offset, CUpti_ActivityFieldLayoutEntry, offset);
SAME(FieldLayout, bytes, CUpti_ActivityFieldLayoutEntry, size);
SAME(FieldLayout, alignment, CUpti_ActivityFieldLayoutEntry, alignment);
SAME_SIZE(FieldLayout, CUpti_ActivityFieldLayoutEntry);
SAME(RecordLayout, fields, CUpti_ActivityRecordLayout, pEntries);
SAME(RecordLayout, count, CUpti_ActivityRecordLayout, numFields);
SAME(RecordLayout, bytes, CUpti_ActivityRecordLayout, recordSize);
SAME_SIZE(RecordLayout, CUpti_ActivityRecordLayout);
SAME_SIZE(BufferRequestInfo, CUpti_BufferCallbackRequestInfo);
SAME(BufferDoneInfo, thread, CUpti_BufferCallbackCompleteInfo, threadId);
SAME(BufferDoneInfo, layouts, CUpti_BufferCallbackCompleteInfo, ppRecordLayouts);
SAME(BufferDoneInfo, count, CUpti_BufferCallbackCompleteInfo, numRecordLayouts);
SAME_SIZE(BufferDoneInfo, CUpti_BufferCallbackCompleteInfo);
static_assert(cupti::kAttributeUserDefinedRecords == CUPTI_ACTIVITY_ATTR_USER_DEFINED_RECORDS);
static_assert(cupti::kAttributeLatencyTimestamps ==
              CUPTI_ACTIVITY_ATTR_ENABLE_KERNEL_LATENCY_TIMESTAMPS);
static_assert(cupti::kAttributeGraphTrace ==
              CUPTI_ACTIVITY_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE);
static_assert(cupti::kAttributeTimestampCallback == CUPTI_ACTIVITY_ATTR_TIMESTAMP_CALLBACK);
static_assert(cupti::kNoMoreRecords == CUPTI_ERROR_MAX_LIMIT_REACHED);
static_assert(cupti::kInvalidKind == CUPTI_ERROR_INVALID_KIND);

// Functions: what is handed over is as many words, in the same order.
static_assert(
    std::is_same_v<decltype(cuptiActivityGetNextRecord_v2),
                   CUptiResult(CUpti_SubscriberHandle, uint8_t*, size_t, CUpti_Activity**)>);
static_assert(std::is_same_v<decltype(cuptiActivityGetNumDroppedRecords_v2),
                             CUptiResult(CUpti_SubscriberHandle, CUcontext, uint32_t, size_t*)>);
static_assert(
    std::is_same_v<decltype(cuptiActivitySetAttribute_v2),
                   CUptiResult(CUpti_SubscriberHandle, CUpti_ActivityAttribute, size_t*, void*)>);
static_assert(
    std::is_same_v<decltype(cuptiActivityGetAttribute_v2),
                   CUptiResult(CUpti_SubscriberHandle, CUpti_ActivityAttribute, size_t*, void*)>);
static_assert(
    std::is_same_v<decltype(cuptiActivityEnable_v2),
                   CUptiResult(CUpti_SubscriberHandle, CUpti_ActivityKind, CUpti_ActivityConfig*)>);
static_assert(
    std::is_same_v<decltype(cuptiActivityDisable_v2),
                   CUptiResult(CUpti_SubscriberHandle, CUpti_ActivityKind, CUpti_ActivityConfig*)>);
static_assert(
    std::is_same_v<decltype(cuptiGetTimestamp_v2), CUptiResult(CUpti_SubscriberHandle, uint64_t*)>);
static_assert(
    std::is_same_v<CUpti_BuffersCallbackRequestFunc_v2,
                   void (*)(uint8_t**, size_t*, size_t*, CUpti_BufferCallbackRequestInfo*)>);
static_assert(
    std::is_same_v<CUpti_BuffersCallbackCompleteFunc_v2,
                   void (*)(uint8_t*, size_t, size_t, CUpti_BufferCallbackCompleteInfo*)>);

// Each field that is selected, by its place in our record: its number is the vendor's.
template <size_t kCount>
constexpr int numberAt(const cupti::Field (&fields)[kCount], size_t offset) {
  for (const cupti::Field& f : fields) {
    if (f.offset == offset) return f.number;
  }
  return -1;
}
template <size_t kCount>
constexpr size_t countOf(const cupti::Field (&)[kCount]) {
  return kCount;
}
#define SELECTS(record, member, number)                                                        \
  static_assert(numberAt(cupti::k##record##Fields, offsetof(cupti::record, member)) == number, \
                #record "." #member " is not selected as " #number)
#define SELECTS_NO_MORE(record, count) \
  static_assert(countOf(cupti::k##record##Fields) == (count), #record ": one is not compared")

SELECTS(Kernel, kind, KERNEL_FIELD_KIND);
SELECTS(Kernel, registers, KERNEL_FIELD_REGISTERS_PER_THREAD);
SELECTS(Kernel, start, KERNEL_FIELD_START);
SELECTS(Kernel, end, KERNEL_FIELD_END);
SELECTS(Kernel, device, KERNEL_FIELD_DEVICE_ID);
SELECTS(Kernel, context, KERNEL_FIELD_CONTEXT_ID);
SELECTS(Kernel, stream, KERNEL_FIELD_STREAM_ID);
SELECTS(Kernel, grid[0], KERNEL_FIELD_GRID_X);
SELECTS(Kernel, grid[1], KERNEL_FIELD_GRID_Y);
SELECTS(Kernel, grid[2], KERNEL_FIELD_GRID_Z);
SELECTS(Kernel, block[0], KERNEL_FIELD_BLOCK_X);
SELECTS(Kernel, block[1], KERNEL_FIELD_BLOCK_Y);
SELECTS(Kernel, block[2], KERNEL_FIELD_BLOCK_Z);
SELECTS(Kernel, static_shared, KERNEL_FIELD_STATIC_SHARED_MEMORY);
SELECTS(Kernel, dynamic_shared, KERNEL_FIELD_DYNAMIC_SHARED_MEMORY);
SELECTS(Kernel, local_per_thread, KERNEL_FIELD_LOCAL_MEMORY_PER_THREAD);
SELECTS(Kernel, correlation, KERNEL_FIELD_CORRELATION_ID);
SELECTS(Kernel, name, KERNEL_FIELD_NAME);
SELECTS(Kernel, queued, KERNEL_FIELD_QUEUED);
SELECTS(Kernel, submitted, KERNEL_FIELD_SUBMITTED);
SELECTS(Kernel, graph_node, KERNEL_FIELD_GRAPH_NODE_ID);
SELECTS(Kernel, graph, KERNEL_FIELD_GRAPH_ID);
SELECTS(Kernel, cluster[0], KERNEL_FIELD_CLUSTER_X);
SELECTS(Kernel, cluster[1], KERNEL_FIELD_CLUSTER_Y);
SELECTS(Kernel, cluster[2], KERNEL_FIELD_CLUSTER_Z);
SELECTS_NO_MORE(Kernel, 25);

SELECTS(Memcpy, kind, MEMCPY_FIELD_KIND);
SELECTS(Memcpy, copy_kind, MEMCPY_FIELD_COPY_KIND);
SELECTS(Memcpy, bytes, MEMCPY_FIELD_BYTES);
SELECTS(Memcpy, start, MEMCPY_FIELD_START);
SELECTS(Memcpy, end, MEMCPY_FIELD_END);
SELECTS(Memcpy, device, MEMCPY_FIELD_DEVICE_ID);
SELECTS(Memcpy, context, MEMCPY_FIELD_CONTEXT_ID);
SELECTS(Memcpy, stream, MEMCPY_FIELD_STREAM_ID);
SELECTS(Memcpy, correlation, MEMCPY_FIELD_CORRELATION_ID);
SELECTS_NO_MORE(Memcpy, 9);

SELECTS(MemcpyPeer, kind, MEMCPY2_FIELD_KIND);
SELECTS(MemcpyPeer, copy_kind, MEMCPY2_FIELD_COPY_KIND);
SELECTS(MemcpyPeer, bytes, MEMCPY2_FIELD_BYTES);
SELECTS(MemcpyPeer, start, MEMCPY2_FIELD_START);
SELECTS(MemcpyPeer, end, MEMCPY2_FIELD_END);
SELECTS(MemcpyPeer, device, MEMCPY2_FIELD_DEVICE_ID);
SELECTS(MemcpyPeer, context, MEMCPY2_FIELD_CONTEXT_ID);
SELECTS(MemcpyPeer, stream, MEMCPY2_FIELD_STREAM_ID);
SELECTS(MemcpyPeer, source_device, MEMCPY2_FIELD_SRC_DEVICE_ID);
SELECTS(MemcpyPeer, destination_device, MEMCPY2_FIELD_DST_DEVICE_ID);
SELECTS(MemcpyPeer, correlation, MEMCPY2_FIELD_CORRELATION_ID);
SELECTS_NO_MORE(MemcpyPeer, 11);

SELECTS(Memset, kind, MEMSET_FIELD_KIND);
SELECTS(Memset, value, MEMSET_FIELD_VALUE);
SELECTS(Memset, bytes, MEMSET_FIELD_BYTES);
SELECTS(Memset, start, MEMSET_FIELD_START);
SELECTS(Memset, end, MEMSET_FIELD_END);
SELECTS(Memset, device, MEMSET_FIELD_DEVICE_ID);
SELECTS(Memset, context, MEMSET_FIELD_CONTEXT_ID);
SELECTS(Memset, stream, MEMSET_FIELD_STREAM_ID);
SELECTS(Memset, correlation, MEMSET_FIELD_CORRELATION_ID);
SELECTS_NO_MORE(Memset, 9);

SELECTS(Synchronization, kind, SYNCHRONIZATION_FIELD_KIND);
SELECTS(Synchronization, type, SYNCHRONIZATION_FIELD_TYPE);
SELECTS(Synchronization, start, SYNCHRONIZATION_FIELD_START);
SELECTS(Synchronization, end, SYNCHRONIZATION_FIELD_END);
SELECTS(Synchronization, correlation, SYNCHRONIZATION_FIELD_CORRELATION_ID);
SELECTS(Synchronization, context, SYNCHRONIZATION_FIELD_CONTEXT_ID);
SELECTS(Synchronization, stream, SYNCHRONIZATION_FIELD_STREAM_ID);
SELECTS(Synchronization, event, SYNCHRONIZATION_FIELD_CUDA_EVENT_ID);
SELECTS(Synchronization, event_sync, SYNCHRONIZATION_FIELD_CUDA_EVENT_SYNC_ID);
SELECTS_NO_MORE(Synchronization, 9);

SELECTS(CudaEvent, kind, CUDA_EVENT_FIELD_KIND);
SELECTS(CudaEvent, correlation, CUDA_EVENT_FIELD_CORRELATION_ID);
SELECTS(CudaEvent, context, CUDA_EVENT_FIELD_CONTEXT_ID);
SELECTS(CudaEvent, stream, CUDA_EVENT_FIELD_STREAM_ID);
SELECTS(CudaEvent, event, CUDA_EVENT_FIELD_EVENT_ID);
SELECTS(CudaEvent, event_sync, CUDA_EVENT_FIELD_CUDA_EVENT_SYNC_ID);
SELECTS_NO_MORE(CudaEvent, 6);

SELECTS(Memory, kind, MEMORY_FIELD_KIND);
SELECTS(Memory, operation, MEMORY_FIELD_OPERATION_TYPE);
SELECTS(Memory, memory_kind, MEMORY_FIELD_MEMORY_KIND);
SELECTS(Memory, correlation, MEMORY_FIELD_CORRELATION_ID);
SELECTS(Memory, address, MEMORY_FIELD_ADDRESS);
SELECTS(Memory, bytes, MEMORY_FIELD_BYTES);
SELECTS(Memory, time, MEMORY_FIELD_TIMESTAMP);
SELECTS(Memory, device, MEMORY_FIELD_DEVICE_ID);
SELECTS(Memory, context, MEMORY_FIELD_CONTEXT_ID);
SELECTS(Memory, pool_kind, MEMORY_FIELD_POOL_TYPE);
SELECTS(Memory, pool, MEMORY_FIELD_POOL_ADDRESS);
SELECTS(Memory, pool_bytes, MEMORY_FIELD_POOL_SIZE);
SELECTS(Memory, pool_used, MEMORY_FIELD_POOL_UTILIZED_SIZE);
SELECTS_NO_MORE(Memory, 13);

SELECTS(MemoryPool, kind, MEMORY_POOL_FIELD_KIND);
SELECTS(MemoryPool, operation, MEMORY_POOL_FIELD_OPERATION_TYPE);
SELECTS(MemoryPool, pool_kind, MEMORY_POOL_FIELD_POOL_TYPE);
SELECTS(MemoryPool, correlation, MEMORY_POOL_FIELD_CORRELATION_ID);
SELECTS(MemoryPool, device, MEMORY_POOL_FIELD_DEVICE_ID);
SELECTS(MemoryPool, kept_bytes, MEMORY_POOL_FIELD_MIN_BYTES_TO_KEEP);
SELECTS(MemoryPool, address, MEMORY_POOL_FIELD_ADDRESS);
SELECTS(MemoryPool, bytes, MEMORY_POOL_FIELD_SIZE);
SELECTS(MemoryPool, release_threshold, MEMORY_POOL_FIELD_RELEASE_THRESHOLD);
SELECTS(MemoryPool, time, MEMORY_POOL_FIELD_TIMESTAMP);
SELECTS(MemoryPool, used, MEMORY_POOL_FIELD_UTILIZED_SIZE);
SELECTS_NO_MORE(MemoryPool, 11);

SELECTS(UnifiedMemory, kind, UVM_COUNTER_FIELD_KIND);
SELECTS(UnifiedMemory, counter, UVM_COUNTER_FIELD_COUNTER_KIND);
SELECTS(UnifiedMemory, value, UVM_COUNTER_FIELD_VALUE);
SELECTS(UnifiedMemory, start, UVM_COUNTER_FIELD_START);
SELECTS(UnifiedMemory, end, UVM_COUNTER_FIELD_END);
SELECTS(UnifiedMemory, address, UVM_COUNTER_FIELD_ADDRESS);
SELECTS(UnifiedMemory, source, UVM_COUNTER_FIELD_SRC_ID);
SELECTS(UnifiedMemory, destination, UVM_COUNTER_FIELD_DST_ID);
SELECTS_NO_MORE(UnifiedMemory, 8);

SELECTS(Jit, kind, JIT_FIELD_KIND);
SELECTS(Jit, entry, JIT_FIELD_ENTRY_TYPE);
SELECTS(Jit, operation, JIT_FIELD_OPERATION_TYPE);
SELECTS(Jit, start, JIT_FIELD_START);
SELECTS(Jit, end, JIT_FIELD_END);
SELECTS(Jit, correlation, JIT_FIELD_CORRELATION_ID);
SELECTS_NO_MORE(Jit, 6);

SELECTS(Overhead, kind, OVERHEAD_FIELD_KIND);
SELECTS(Overhead, overhead, OVERHEAD_FIELD_OVERHEAD_KIND);
SELECTS(Overhead, start, OVERHEAD_FIELD_START);
SELECTS(Overhead, end, OVERHEAD_FIELD_END);
SELECTS(Overhead, correlation, OVERHEAD_FIELD_CORRELATION_ID);
SELECTS_NO_MORE(Overhead, 5);

SELECTS(GraphTrace, kind, GRAPH_TRACE_FIELD_KIND);
SELECTS(GraphTrace, correlation, GRAPH_TRACE_FIELD_CORRELATION_ID);
SELECTS(GraphTrace, start, GRAPH_TRACE_FIELD_START);
SELECTS(GraphTrace, end, GRAPH_TRACE_FIELD_END);
SELECTS(GraphTrace, device, GRAPH_TRACE_FIELD_DEVICE_ID);
SELECTS(GraphTrace, graph, GRAPH_TRACE_FIELD_GRAPH_ID);
SELECTS(GraphTrace, context, GRAPH_TRACE_FIELD_CONTEXT_ID);
SELECTS(GraphTrace, stream, GRAPH_TRACE_FIELD_STREAM_ID);
SELECTS_NO_MORE(GraphTrace, 8);

SELECTS(Device, kind, DEVICE_FIELD_KIND);
SELECTS(Device, memory_bytes, DEVICE_FIELD_GLOBAL_MEMORY_SIZE);
SELECTS(Device, warp_size, DEVICE_FIELD_NUM_THREADS_PER_WARP);
SELECTS(Device, core_clock_khz, DEVICE_FIELD_CORE_CLOCK_RATE);
SELECTS(Device, multiprocessors, DEVICE_FIELD_NUM_MULTIPROCESSORS);
SELECTS(Device, warps_per_multiprocessor, DEVICE_FIELD_MAX_WARPS_PER_MULTIPROCESSOR);
SELECTS(Device, shared_bytes_per_multiprocessor, DEVICE_FIELD_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SELECTS(Device, registers_per_multiprocessor, DEVICE_FIELD_MAX_REGISTERS_PER_MULTIPROCESSOR);
SELECTS(Device, threads_per_block, DEVICE_FIELD_MAX_THREADS_PER_BLOCK);
SELECTS(Device, compute_major, DEVICE_FIELD_COMPUTE_CAPABILITY_MAJOR);
SELECTS(Device, compute_minor, DEVICE_FIELD_COMPUTE_CAPABILITY_MINOR);
SELECTS(Device, id, DEVICE_FIELD_ID);
SELECTS(Device, uuid, DEVICE_FIELD_UUID);
SELECTS(Device, name, DEVICE_FIELD_NAME);
SELECTS_NO_MORE(Device, 14);

SELECTS(Context, kind, CONTEXT_FIELD_KIND);
SELECTS(Context, id, CONTEXT_FIELD_CONTEXT_ID);
SELECTS(Context, device, CONTEXT_FIELD_DEVICE_ID);
SELECTS(Context, null_stream, CONTEXT_FIELD_NULL_STREAM_ID);
SELECTS_NO_MORE(Context, 4);
#endif

}  // namespace

int main() { std::printf("CUPTI %d is as the agent declares it\n", CUPTI_API_VERSION); }
