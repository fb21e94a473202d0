// SPDX-License-Identifier: Apache-2.0
// What the agent declares of CUPTI (agents/cuda/cupti.hpp), compared by the compiler with each
// version's own headers.
#include <cstddef>
#include <cstdio>

#include "standin_records.hpp"
#include "tracesmith/capture/agents/cuda/cupti.hpp"

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
SAME(ResourceData, context, CUpti_ResourceData, context);
SAME(ResourceData, stream, CUpti_ResourceData, resourceHandle);
SAME(ResourceData, descriptor, CUpti_ResourceData, resourceDescriptor);
SAME(GraphData, node, CUpti_GraphData, node);
SAME(GraphData, original_node, CUpti_GraphData, originalNode);
SAME(GraphData, node_type, CUpti_GraphData, nodeType);
SAME(GraphData, exec, CUpti_GraphData, graphExec);
VALUE(kDriverApi, CUPTI_CB_DOMAIN_DRIVER_API);
VALUE(kRuntimeApi, CUPTI_CB_DOMAIN_RUNTIME_API);
VALUE(kResource, CUPTI_CB_DOMAIN_RESOURCE);
VALUE(kEnter, CUPTI_API_ENTER);
VALUE(kExit, CUPTI_API_EXIT);
VALUE(kInitFinished, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);
VALUE(kModuleUnloadStarting, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
VALUE(kGraphNodeCreated, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
VALUE(kGraphNodeCloned, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);

VALUE(kSuccess, CUPTI_SUCCESS);
VALUE(kNotSupported, CUPTI_ERROR_NOT_SUPPORTED);
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
VALUE(kMemory, CUPTI_ACTIVITY_KIND_MEMORY2);
VALUE(kJit, CUPTI_ACTIVITY_KIND_JIT);

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
SAME(Memory, operation, MemoryRecord, memoryOperationType);
SAME(Memory, memory_kind, MemoryRecord, memoryKind);
SAME(Memory, correlation, MemoryRecord, correlationId);
SAME(Memory, address, MemoryRecord, address);
SAME(Memory, bytes, MemoryRecord, bytes);
SAME(Memory, time, MemoryRecord, timestamp);
SAME(Memory, device, MemoryRecord, deviceId);
SAME(Memory, context, MemoryRecord, contextId);
SAME(Memory, stream, MemoryRecord, streamId);
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
SAME(Overhead, overhead, OverheadRecord, overheadKind);
SAME(Overhead, start, OverheadRecord, start);
SAME(Overhead, end, OverheadRecord, end);
SAME(Context, id, ContextRecord, contextId);
SAME(Context, device, ContextRecord, deviceId);
SAME(Device, memory_bytes, DeviceRecord, globalMemorySize);
SAME(Device, warp_size, DeviceRecord, numThreadsPerWarp);
SAME(Device, core_clock_khz, DeviceRecord, coreClockRate);
SAME(Device, multiprocessors, DeviceRecord, numMultiprocessors);
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

}  // namespace

int main() { std::printf("CUPTI %d is as the agent declares it\n", CUPTI_API_VERSION); }
