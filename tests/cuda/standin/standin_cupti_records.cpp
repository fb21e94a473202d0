// SPDX-License-Identifier: Apache-2.0
// What the stand-in for libcupti makes of what libcuda tells it: callbacks, and the record of each
// kind in the form that its version writes.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "standin_cupti.hpp"

namespace standin {
namespace {

void notify(Client& client, CUpti_CallbackDomain domain, uint32_t cbid, const void* data) {
  if (!client.callbacks[domain][cbid].load(std::memory_order_relaxed)) return;
  CUpti_CallbackFunc callback = client.callback.load();
  if (callback != nullptr) callback(client.userdata, domain, cbid, data);
}

void notify(StandinCall& call, CUpti_ApiCallbackSite site) {
  for (size_t i = 0; i < kStandinSubscribers; ++i) {
    const CUpti_CallbackData data{
        .callbackSite = site,
        .functionName = call.function,
        .functionParams = call.params,
        .functionReturnValue = site == CUPTI_API_EXIT ? &call.result : nullptr,
        .symbolName = call.symbol,
        .context = call.context,
        .contextUid = call.context != nullptr ? call.context->id : 0,
        .correlationData = &call.data[i],
        .correlationId = call.correlation};
    notify(state().clients[i], call.domain, call.cbid, &data);
  }
}

// A copy that whoever takes the record is to free. A preloaded libcall-watch counts those that are.
void* handOver(const char* text) {
  char* const copy = strdup(text);
  static const auto watch =
      reinterpret_cast<void (*)(void*)>(dlsym(RTLD_DEFAULT, "watchHandedOver"));
  if (watch != nullptr) watch(copy);
  return copy;
}

// A record of whole fields for each client, with what is handed over of its own. Clients that
// select fields get what all records share.
template <typename Record, typename HandOver>
void putEach(const Record& record, const HandOver& hand_over) {
  for (Client& client : state().clients) {
    if (!client.kinds[record.kind].load(std::memory_order_relaxed)) continue;
    Record each = record;
    if (client.layouts[record.kind].load() == nullptr) hand_over(each);
    put(client, each);
  }
}

void putOverhead(CUpti_ActivityOverheadKind kind, uint64_t start, uint64_t end,
                 [[maybe_unused]] uint32_t correlation) {
  if (!on(CUPTI_ACTIVITY_KIND_OVERHEAD)) return;
  OverheadRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  record.overheadKind = kind;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.processId = static_cast<uint32_t>(getpid());
  record.objectId.pt.threadId = static_cast<uint32_t>(gettid());
  record.start = start;
  record.end = end;
#if CUDA_VERSION >= 12040
  record.correlationId = correlation;
#endif
  putEach(record, [](OverheadRecord& each) {
    if (version() < 22) return;
#if CUDA_VERSION >= 12040
    each.overheadData = handOver("what the overhead was");
#else
    (void)each;
#endif
  });
}

void putContext(CUcontext context) {
  if (on(CUPTI_ACTIVITY_KIND_CONTEXT)) {
    ContextRecord record{};
    record.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
    record.contextId = context->id;
    record.deviceId = static_cast<uint32_t>(context->device);
    record.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
    record.nullStreamId = static_cast<uint16_t>(context->streams.front()->id);
    put(record);
  }
  const uint64_t now = standinNow();
  putOverhead(CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE, now, now + 1000, 0);
}

void putStream(CUstream stream) {
  if (!on(CUPTI_ACTIVITY_KIND_STREAM)) return;
  CUpti_ActivityStream record{};
  record.kind = CUPTI_ACTIVITY_KIND_STREAM;
  record.contextId = stream->context->id;
  record.streamId = stream->id;
  record.flag = stream->is_null ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL
                : (stream->flags & CU_STREAM_NON_BLOCKING) != 0
                    ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING
                    : CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT;
  put(record);
}

void putDevice(int device) {
  if (!on(CUPTI_ACTIVITY_KIND_DEVICE)) return;
  DeviceRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  record.globalMemorySize = kStandinMemoryBytes;
  record.numThreadsPerWarp = 32;
  record.numMultiprocessors = kStandinMultiprocessors;
  record.maxWarpsPerMultiprocessor = kStandinThreadsPerMultiprocessor / 32;
  record.maxSharedMemoryPerMultiprocessor = kStandinSharedBytesPerMultiprocessor;
  record.maxRegistersPerMultiprocessor = kStandinRegistersPerMultiprocessor;
  record.computeCapabilityMajor = 9;
  record.id = static_cast<uint32_t>(device);
  standinUuid(device, record.uuid.bytes);
  record.name = kStandinDeviceName;
  putEach(record, [](DeviceRecord& each) {
    if (version() >= 130000) each.name = static_cast<const char*>(handOver(kStandinDeviceName));
  });
}

// Whether it is a node of a graph that is recorded as a whole.
bool isInWholeGraph(const StandinWork& work) {
  return work.exec != nullptr && (on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) || state().whole_graphs);
}

template <typename Record>
void setGraph(Record& record, const StandinWork& work) {
  if (work.exec == nullptr) return;
  record.graphId = work.exec->id;
  record.graphNodeId = work.node->id;
  if constexpr (requires { record.sourceGraphId; }) {
    record.sourceGraphId = work.exec->graph->original->id;
  }
  if constexpr (requires { record.sourceGraphNodeId; }) {
    record.sourceGraphNodeId = work.node->original->id;
  }
}

void putKernel(const StandinWork& work) {
  State& s = state();
  const CUpti_ActivityKind kind = on(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
                                      ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                                      : CUPTI_ACTIVITY_KIND_KERNEL;
  if (!on(kind) || isInWholeGraph(work)) return;
  KernelRecord record{};
  record.kind = kind;
  record.registersPerThread = 32;
  record.deviceId = static_cast<uint32_t>(work.stream->context->device);
  record.contextId = work.stream->context->id;
  record.streamId = work.stream->id;
  record.gridX = static_cast<int32_t>(work.launch.grid[0]);
  record.gridY = static_cast<int32_t>(work.launch.grid[1]);
  record.gridZ = static_cast<int32_t>(work.launch.grid[2]);
  record.blockX = static_cast<int32_t>(work.launch.block[0]);
  record.blockY = static_cast<int32_t>(work.launch.block[1]);
  record.blockZ = static_cast<int32_t>(work.launch.block[2]);
  record.clusterX = work.launch.cluster[0];
  record.clusterY = work.launch.cluster[1];
  record.clusterZ = work.launch.cluster[2];
  record.dynamicSharedMemory = static_cast<int32_t>(work.launch.shared_bytes);
  record.correlationId = work.call->correlation;
  record.name = work.launch.name;
  if (std::any_of(std::begin(s.clients), std::end(s.clients),
                  [](const Client& client) { return client.latency.load(); })) {
    record.queued = work.call->start_ns;
    record.submitted = record.queued + 500;
  }
  setGraph(record, work);
  StandinWork times = work;
  if (s.zero_times != 0 && ++s.kernels % s.zero_times == 0) times.start_ns = 0;
  put(record, &times);
}

void putCopy(const StandinWork& work) {
  if (!on(CUPTI_ACTIVITY_KIND_MEMCPY) || isInWholeGraph(work)) return;
  CopyRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  record.copyKind = work.copy_kind;
  record.srcKind = static_cast<uint8_t>(work.source_kind);
  record.dstKind = static_cast<uint8_t>(work.memory_kind);
  record.flags = work.async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
  record.bytes = work.bytes;
  record.deviceId = static_cast<uint32_t>(work.stream->context->device);
  record.contextId = work.stream->context->id;
  record.streamId = work.stream->id;
  record.correlationId = work.call->correlation;
  setGraph(record, work);
  put(record, &work);
}

void putPeerCopy(const StandinWork& work) {
  if (!on(CUPTI_ACTIVITY_KIND_MEMCPY2) || isInWholeGraph(work)) return;
  PeerRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  record.copyKind = work.copy_kind;
  record.srcKind = static_cast<uint8_t>(work.source_kind);
  record.dstKind = static_cast<uint8_t>(work.memory_kind);
  record.flags = work.async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
  record.bytes = work.bytes;
  record.deviceId = static_cast<uint32_t>(work.stream->context->device);
  record.contextId = work.stream->context->id;
  record.streamId = work.stream->id;
  record.srcDeviceId = static_cast<uint32_t>(work.source->device);
  record.srcContextId = work.source->id;
  record.dstDeviceId = static_cast<uint32_t>(work.destination->device);
  record.dstContextId = work.destination->id;
  record.correlationId = work.call->correlation;
  setGraph(record, work);
  put(record, &work);
}

void putFill(const StandinWork& work) {
  if (!on(CUPTI_ACTIVITY_KIND_MEMSET) || isInWholeGraph(work)) return;
  FillRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  record.value = work.value;
  record.bytes = work.bytes;
  record.deviceId = static_cast<uint32_t>(work.stream->context->device);
  record.contextId = work.stream->context->id;
  record.streamId = work.stream->id;
  record.correlationId = work.call->correlation;
  record.flags = work.async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
  record.memoryKind = static_cast<uint16_t>(work.memory_kind);
  setGraph(record, work);
  put(record, &work);
}

void putSync(const StandinWork& work) {
  if (!on(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) return;
  constexpr auto kNone = static_cast<uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE);
  SyncRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = work.sync;
  record.start = work.start_ns;
  record.end = work.end_ns;
  record.correlationId = work.call->correlation;
  record.contextId = work.call->context->id;
  record.streamId = work.stream != nullptr ? work.stream->id : kNone;
  record.cudaEventId = work.event != nullptr ? work.event->id : kNone;
#if CUDA_VERSION >= 13050
  record.cudaEventSyncId = work.event != nullptr ? work.event->record_id : 0;
#endif
  put(record);
}

void putEvent(const StandinWork& work) {
  if (!on(CUPTI_ACTIVITY_KIND_CUDA_EVENT)) return;
  EventRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
  record.correlationId = work.call->correlation;
  record.contextId = work.stream->context->id;
  record.streamId = work.stream->id;
  record.eventId = work.event->id;
#if CUDA_VERSION >= 13050
  record.deviceId = static_cast<uint32_t>(work.stream->context->device);
  record.cudaEventSyncId = work.event->record_id;
#endif
  put(record);
}

void putGraph(const StandinWork& work) {
  if (!on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)) return;
  GraphRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  record.correlationId = work.call->correlation;
  record.deviceId = static_cast<uint32_t>(work.stream->context->device);
  record.graphId = work.exec->id;
  record.contextId = work.stream->context->id;
  record.streamId = work.stream->id;
#if CUDA_VERSION >= 12040
  record.endDeviceId = record.deviceId;
  record.endContextId = record.contextId;
#endif
  put(record, &work);
}

// The call of the runtime that this thread is in: the driver's within it have its correlation id.
thread_local StandinCall* outermost = nullptr;

void enterCall(StandinCall& call) {
  State& s = state();
  const bool runtime = call.domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  // One that was left by longjmp lies below on the stack, which grows downwards.
  if (outermost != nullptr && (runtime || &call >= outermost)) outermost = nullptr;
  call.outer = outermost;
  if (call.outer != nullptr) {
    call.correlation = call.outer->correlation;
  } else {
    if (runtime) outermost = &call;
    do {
      call.correlation = ++s.correlation;
    } while (call.correlation == CUPTI_CORRELATION_ID_UNKNOWN);
  }
  call.start_ns = standinNow();
  notify(call, CUPTI_API_ENTER);
}

void exitCall(StandinCall& call) {
  const bool runtime = call.domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  const auto kind = runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
  if (on(kind)) {
    putExternal(call.correlation);
    CUpti_ActivityAPI record{};
    record.kind = kind;
    record.cbid = call.cbid;
    record.start = call.start_ns;
    record.end = standinNow();
    record.processId = static_cast<uint32_t>(getpid());
    record.threadId = first().system_thread_ids.load() ? static_cast<uint32_t>(gettid())
                                                       : static_cast<uint32_t>(pthread_self());
    record.correlationId = call.correlation;
    record.returnValue = static_cast<uint32_t>(call.result);
    put(record);
  }
  notify(call, CUPTI_API_EXIT);
  if (outermost == &call) outermost = nullptr;
}

void resource(CUpti_CallbackIdResource what, const StandinResource& resource) {
  if (what == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED) {
    for (int device = 0; device < standinDevices(); ++device) putDevice(device);
  }
  if (what == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) {
    putContext(resource.context);
    putStream(resource.context->streams.front());
  }
  if (what == CUPTI_CBID_RESOURCE_STREAM_CREATED) putStream(resource.stream);

  CUpti_ModuleResourceData module{};
  CUpti_GraphData graph{};
  CUpti_ResourceData data{};
  data.context = resource.context;
  data.resourceHandle.stream = resource.stream;
  if (resource.module != nullptr) {
    module.moduleId = resource.module->id;
    module.pCubin = static_cast<const char*>(resource.image);
    // The image is text here.
    module.cubinSize = resource.image != nullptr ? std::strlen(module.pCubin) : 0;
    data.resourceDescriptor = &module;
  }
  if (resource.graph != nullptr) {
    graph.graph = resource.graph;
    graph.originalGraph = const_cast<CUgraph>(resource.graph->original);
    graph.node = resource.node;
    if (resource.node != nullptr) {
      graph.originalNode = const_cast<CUgraphNode>(resource.node->original);
      graph.nodeType = resource.node->type;
    }
    graph.graphExec = resource.exec;
    data.resourceDescriptor = &graph;
  }
  in_resource_callback = true;
  for (Client& client : state().clients) notify(client, CUPTI_CB_DOMAIN_RESOURCE, what, &data);
  in_resource_callback = false;
}

void putWork(const StandinWork& work) {
  switch (work.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return putKernel(work);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return putCopy(work);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return putPeerCopy(work);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return putMemory(work);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
      return putPool(work);
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
      return putUnified(work);
    case CUPTI_ACTIVITY_KIND_JIT:
      return putJit(work);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return putFill(work);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return putSync(work);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return putEvent(work);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return putGraph(work);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return putOverhead(static_cast<CUpti_ActivityOverheadKind>(work.value), work.start_ns,
                         work.end_ns, work.call->correlation);
    default:
      misuse("libcuda tells of work of an unknown kind");
  }
}

}  // namespace

constinit const StandinTool kTool{enterCall, exitCall, resource, putWork};

}  // namespace standin
