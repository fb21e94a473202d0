// SPDX-License-Identifier: Apache-2.0
// A libcupti of the version whose headers it is compiled with: callbacks on the calling thread, and
// records in the client's buffers, which a worker thread completes and hands over once the device
// would have done the work. What the documentation forbids a client ends the program with a
// message.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>

#include "standin.hpp"
#include "standin_records.hpp"

namespace {

constexpr size_t kCallbackIds = 1024;  // more than any domain has
static_assert(CUPTI_DRIVER_TRACE_CBID_SIZE < kCallbackIds);
constexpr size_t kAttributes = 32;

[[noreturn]] void misuse(const char* what) {
  std::fprintf(stderr, "libcupti stand-in: %s\n", what);
  std::abort();
}

struct Buffer {
  uint8_t* memory = nullptr;
  size_t size = 0, used = 0, records = 0, most_records = 0;
  size_t open = 0;  // records that are not complete yet
  bool handed_over = false;
};

// A record that lies in a buffer without its times.
struct Open {
  uint64_t due_ns;
  std::shared_ptr<Buffer> buffer;
  uint8_t *start, *end, *completed;
  uint64_t start_ns, end_ns;
  bool operator<(const Open& other) const { return due_ns > other.due_ns; }
};

struct Flush {
  uint64_t asked = 0, done = 0;
  bool forced = false;
};

struct State {
  std::atomic<CUpti_CallbackFunc> callback{nullptr};
  void* userdata = nullptr;
  std::string name = "CUPTI";
  std::atomic<bool> callbacks[CUPTI_CB_DOMAIN_SIZE][kCallbackIds] = {};

  std::atomic<bool> kinds[CUPTI_ACTIVITY_KIND_COUNT] = {};
  std::atomic<CUpti_TimestampCallbackFunc> clock{nullptr};
  std::atomic<bool> latency{false}, system_thread_ids{false};
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  uint64_t attributes[kAttributes] = {};
  std::atomic<uint32_t> correlation{
      static_cast<uint32_t>(standinScript("correlation_start", 1) - 1)};

  std::mutex filling;  // one record after the other; held while a buffer is asked for
  std::mutex mutex;    // of what follows; never held in a callback
  std::condition_variable wake, flushed;
  std::shared_ptr<Buffer> active;
  std::vector<std::shared_ptr<Buffer>> retired;
  std::priority_queue<Open> open;
  Flush flush;
  bool has_worker = false;
  size_t dropped = 0, records = 0;

  const uint64_t drop_every = standinScript("drop_every", 0);
  const uint64_t zero_times = standinScript("zero_times", 0);
  const uint64_t late_ns = standinScript("late_ms", 0) * 1'000'000;
  const bool other_subscriber = standinScript("second_subscriber", 0) != 0;
  const bool no_driver = standinScript("no_driver", 0) != 0;
  const bool exit_during_flush = standinScript("exit_during_flush", 0) != 0;
  std::atomic<size_t> kernels{0};
};

// Never destroyed: the worker outlives main.
State& state() {
  static State& only = *[] {
    auto* made = new State;
    made->attributes[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE] = 3'200'000;
    made->attributes[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT] = 250;
    made->attributes[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE] = 3;
#if CUDA_VERSION >= 13000
    made->attributes[CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER] = 1;
#endif
    return made;
  }();
  return only;
}

thread_local bool in_buffer_callback = false;
thread_local bool in_other_callback = false;  // of a resource

bool on(CUpti_ActivityKind kind) { return state().kinds[kind].load(std::memory_order_relaxed); }

uint64_t timestamp() {
  if (CUpti_TimestampCallbackFunc clock = state().clock.load()) return clock();
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// What to add to the device's time: the best of some readings, for one may be interrupted.
uint64_t clockOffset() {
  uint64_t narrowest = UINT64_MAX, offset = 0;
  for (int i = 0; i < 5; ++i) {
    const uint64_t before = standinNow();
    const uint64_t client = timestamp();
    const uint64_t width = standinNow() - before;
    if (width >= narrowest) continue;
    narrowest = width;
    offset = client - (before + width / 2);
  }
  return offset;
}

// --- Callbacks

void notify(CUpti_CallbackDomain domain, uint32_t cbid, const void* data) {
  if (!state().callbacks[domain][cbid].load(std::memory_order_relaxed)) return;
  CUpti_CallbackFunc callback = state().callback.load();
  if (callback != nullptr) callback(state().userdata, domain, cbid, data);
}

void notify(StandinCall& call, CUpti_ApiCallbackSite site) {
  const CUpti_CallbackData data{
      .callbackSite = site,
      .functionName = call.function,
      .functionParams = call.params,
      .functionReturnValue = site == CUPTI_API_EXIT ? &call.result : nullptr,
      .symbolName = call.symbol,
      .context = call.context,
      .contextUid = call.context != nullptr ? call.context->id : 0,
      .correlationData = &call.data,
      .correlationId = call.correlation};
  notify(CUPTI_CB_DOMAIN_DRIVER_API, call.cbid, &data);
}

// --- Records

void retire(State& s) {
  if (s.active == nullptr || s.active->used == 0) return;
  s.retired.push_back(std::move(s.active));
  s.active = nullptr;
}

bool fits(const State& s, size_t bytes) {
  return s.active != nullptr && s.active->size - s.active->used >= bytes &&
         (s.active->most_records == 0 || s.active->records < s.active->most_records);
}

// Asks the client for a buffer; it may have none.
std::shared_ptr<Buffer> requestBuffer() {
  State& s = state();
  auto buffer = std::make_shared<Buffer>();
  if (s.request == nullptr) return nullptr;
  in_buffer_callback = true;
  s.request(&buffer->memory, &buffer->size, &buffer->most_records);
  in_buffer_callback = false;
  if (buffer->memory == nullptr) return nullptr;
  if (reinterpret_cast<uintptr_t>(buffer->memory) % 8 != 0) misuse("a buffer is not aligned to 8");
  if (s.attributes[CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER] != 0) {
    for (size_t i = 0; i < buffer->size; ++i) {
      if (buffer->memory[i] != 0) misuse("a buffer is not zeroed, as the client said it would be");
    }
  }
  return buffer;
}

// Puts a record into a buffer, or drops and counts it. With `open` its times follow.
template <typename Record>
void put(const Record& record, const StandinWork* open = nullptr) {
  static_assert(sizeof(Record) % 8 == 0);
  State& s = state();
  const std::lock_guard filling(s.filling);
  std::unique_lock lock(s.mutex);
  if (++s.records; s.drop_every != 0 && s.records % s.drop_every == 0) {
    ++s.dropped;
    return;
  }
  if (!fits(s, sizeof record)) {
    retire(s);
    if (s.active == nullptr) {
      lock.unlock();
      s.wake.notify_one();
      auto buffer = requestBuffer();
      lock.lock();
      s.active = std::move(buffer);
    }
    if (!fits(s, sizeof record)) {
      ++s.dropped;
      return;
    }
  }
  uint8_t* at = s.active->memory + s.active->used;
  std::memcpy(at, &record, sizeof record);
  s.active->used += sizeof record;
  ++s.active->records;
  const std::shared_ptr<Buffer> buffer = s.active;
  if (s.active->records == s.active->most_records) retire(s);
  s.wake.notify_one();
  if constexpr (requires { record.start; }) {
    if (open == nullptr) return;
    ++buffer->open;
    uint8_t* completed = nullptr;
    if constexpr (requires { record.completed; }) completed = at + offsetof(Record, completed);
    s.open.push({open->end_ns + s.late_ns, buffer, at + offsetof(Record, start),
                 at + offsetof(Record, end), completed, open->start_ns, open->end_ns});
  }
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
  if (on(CUPTI_ACTIVITY_KIND_OVERHEAD)) {
    OverheadRecord record{};
    record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
    record.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE;
    record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    record.objectId.pt.processId = static_cast<uint32_t>(getpid());
    record.objectId.pt.threadId = static_cast<uint32_t>(gettid());
    record.start = timestamp();
    record.end = record.start + 1000;
    put(record);
  }
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

void putDevice() {
  if (!on(CUPTI_ACTIVITY_KIND_DEVICE)) return;
  DeviceRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  record.globalMemorySize = kStandinMemoryBytes;
  record.numThreadsPerWarp = 32;
  record.numMultiprocessors = kStandinMultiprocessors;
  record.computeCapabilityMajor = 9;
  std::memcpy(record.uuid.bytes, "stand-in device", sizeof record.uuid.bytes);
  record.name = kStandinDeviceName;
  put(record);
}

void putKernel(const StandinWork& work) {
  State& s = state();
  const CUpti_ActivityKind kind = on(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
                                      ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                                      : CUPTI_ACTIVITY_KIND_KERNEL;
  if (!on(kind) || (work.exec != nullptr && on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE))) return;
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
  if (s.latency.load()) {
    record.queued = work.call->start_ns;
    record.submitted = record.queued + 500;
  }
  if (work.exec != nullptr) {
    record.graphId = work.exec->id;
    record.graphNodeId = work.node->id;
#if CUDA_VERSION >= 13050
    record.sourceGraphId = work.exec->graph->original->id;
    record.sourceGraphNodeId = work.node->original->id;
#endif
  }
  StandinWork times = work;
  if (s.zero_times != 0 && ++s.kernels % s.zero_times == 0) times.start_ns = 0;
  put(record, &times);
}

void putCopy(const StandinWork& work) {
  if (!on(CUPTI_ACTIVITY_KIND_MEMCPY)) return;
  const bool from_host = work.copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  const bool to_host = work.copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  CopyRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  record.copyKind = work.copy_kind;
  record.srcKind =
      from_host ? CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.dstKind =
      to_host ? CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.flags = work.async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
  record.bytes = work.bytes;
  record.deviceId = static_cast<uint32_t>(work.stream->context->device);
  record.contextId = work.stream->context->id;
  record.streamId = work.stream->id;
  record.correlationId = work.call->correlation;
  put(record, &work);
}

void putFill(const StandinWork& work) {
  if (!on(CUPTI_ACTIVITY_KIND_MEMSET)) return;
  FillRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  record.value = work.value;
  record.bytes = work.bytes;
  record.deviceId = static_cast<uint32_t>(work.stream->context->device);
  record.contextId = work.stream->context->id;
  record.streamId = work.stream->id;
  record.correlationId = work.call->correlation;
  record.flags = work.async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  put(record, &work);
}

void putSync(const StandinWork& work) {
  if (!on(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) return;
  constexpr auto kNone = static_cast<uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE);
  const uint64_t offset = clockOffset();
  SyncRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = work.sync;
  record.start = work.start_ns + offset;
  record.end = work.end_ns + offset;
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

// --- What libcuda tells

void enterCall(StandinCall& call) {
  State& s = state();
  do {
    call.correlation = ++s.correlation;
  } while (call.correlation == CUPTI_CORRELATION_ID_UNKNOWN);
  call.start_ns = timestamp();
  notify(call, CUPTI_API_ENTER);
}

void exitCall(StandinCall& call) {
  if (on(CUPTI_ACTIVITY_KIND_DRIVER)) {
    CUpti_ActivityAPI record{};
    record.kind = CUPTI_ACTIVITY_KIND_DRIVER;
    record.cbid = call.cbid;
    record.start = call.start_ns;
    record.end = timestamp();
    record.processId = static_cast<uint32_t>(getpid());
    record.threadId = state().system_thread_ids.load() ? static_cast<uint32_t>(gettid())
                                                       : static_cast<uint32_t>(pthread_self());
    record.correlationId = call.correlation;
    record.returnValue = call.result;
    put(record);
  }
  notify(call, CUPTI_API_EXIT);
}

void resource(CUpti_CallbackIdResource what, const StandinResource& resource) {
  if (what == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED) putDevice();
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
      graph.nodeType = CU_GRAPH_NODE_TYPE_KERNEL;
    }
    graph.graphExec = resource.exec;
    data.resourceDescriptor = &graph;
  }
  in_other_callback = true;
  notify(CUPTI_CB_DOMAIN_RESOURCE, what, &data);
  in_other_callback = false;
}

void putWork(const StandinWork& work) {
  switch (work.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return putKernel(work);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return putCopy(work);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return putFill(work);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return putSync(work);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return putEvent(work);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return putGraph(work);
    default:
      misuse("libcuda tells of work of an unknown kind");
  }
}

constexpr StandinTool kTool{enterCall, exitCall, resource, putWork};

// libcuda, or null where there is none.
void* driverLibrary() {
  if (state().no_driver) return nullptr;
  static void* library = dlopen("libcuda.so.1", RTLD_NOW);
  static const bool there = [] {
    if (library == nullptr) return false;
    const auto attach = reinterpret_cast<decltype(&standinAttach)>(dlsym(library, "standinAttach"));
    if (attach != nullptr) attach(&kTool);
    return attach != nullptr;
  }();
  return there ? library : nullptr;
}

// --- The worker

void finish(const Open& open, uint64_t offset) {
  if (open.buffer->handed_over) return;
  --open.buffer->open;
  if (open.start_ns == 0) return;  // there was no room on the device to take its times
  const uint64_t start = open.start_ns + offset;
  const uint64_t end = open.end_ns + offset;
  std::memcpy(open.start, &start, sizeof start);
  std::memcpy(open.end, &end, sizeof end);
  if (open.completed != nullptr) std::memcpy(open.completed, &end, sizeof end);
}

void handOver(State& s, std::unique_lock<std::mutex>& lock, bool flushing) {
  for (size_t i = 0; i < s.retired.size();) {
    const std::shared_ptr<Buffer> buffer = s.retired[i];
    if (buffer->open != 0 && !(flushing && s.flush.forced)) {
      ++i;
      continue;
    }
    s.retired.erase(s.retired.begin() + static_cast<ptrdiff_t>(i));
    buffer->handed_over = true;
    lock.unlock();
    in_buffer_callback = true;
    s.complete(nullptr, 0, buffer->memory, buffer->size, buffer->used);
    in_buffer_callback = false;
    if (flushing && s.exit_during_flush) _exit(0);
    lock.lock();
  }
}

[[noreturn]] void work() {
  State& s = state();
  std::unique_lock lock(s.mutex);
  for (;;) {
    if (!s.open.empty() && s.open.top().due_ns <= standinNow()) {
      const uint64_t offset = clockOffset();
      while (!s.open.empty() && s.open.top().due_ns <= standinNow()) {
        finish(s.open.top(), offset);
        s.open.pop();
      }
    }
    const uint64_t asked = s.flush.asked;
    const bool flushing = asked != s.flush.done;
    if (flushing && s.active != nullptr && (s.flush.forced || s.active->open == 0)) retire(s);
    handOver(s, lock, flushing);
    if (flushing) {
      s.flush.done = asked;
      if (asked == s.flush.asked) s.flush.forced = false;
      s.flushed.notify_all();
    }
    if (s.flush.asked != s.flush.done) continue;
    if (s.open.empty()) {
      s.wake.wait(lock);
    } else {
      const uint64_t now = standinNow();
      const uint64_t due = s.open.top().due_ns;
      if (due > now) s.wake.wait_for(lock, std::chrono::nanoseconds(due - now));
    }
  }
}

CUptiResult subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                      void* userdata, const char* name) {
  State& s = state();
  if (subscriber == nullptr || callback == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (driverLibrary() == nullptr) return CUPTI_ERROR_UNKNOWN;
  CUpti_CallbackFunc none = nullptr;
  if (s.other_subscriber) {
    s.name = "CUPTI for another tool";
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  s.userdata = s.callback.load() == nullptr ? userdata : s.userdata;
  if (!s.callback.compare_exchange_strong(none, callback)) {
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  s.name = name != nullptr ? std::string("CUPTI for ") + name : "CUPTI";
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&s);
  return CUPTI_SUCCESS;
}

bool isSubscriber(CUpti_SubscriberHandle subscriber) {
  return reinterpret_cast<State*>(subscriber) == &state() && state().callback.load() != nullptr;
}

uint32_t callbackIds(CUpti_CallbackDomain domain) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
      return CUPTI_DRIVER_TRACE_CBID_SIZE;
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      return CUPTI_RUNTIME_TRACE_CBID_SIZE;
    case CUPTI_CB_DOMAIN_RESOURCE:
      return CUPTI_CBID_RESOURCE_SIZE;
    case CUPTI_CB_DOMAIN_SYNCHRONIZE:
      return CUPTI_CBID_SYNCHRONIZE_SIZE;
    default:
      return 0;
  }
}

// The bytes of a record; 0 for what is none.
size_t recordBytes(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(KernelRecord);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CopyRecord);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(FillRecord);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return sizeof(SyncRecord);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return sizeof(EventRecord);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return sizeof(OverheadRecord);
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return sizeof(ContextRecord);
    case CUPTI_ACTIVITY_KIND_STREAM:
      return sizeof(CUpti_ActivityStream);
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return sizeof(DeviceRecord);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return sizeof(GraphRecord);
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return sizeof(CUpti_ActivityAPI);
    default:
      return 0;
  }
}

template <typename Id, typename Handle>
CUptiResult idOf(const Handle* handle, Id* id) {
  if (handle == nullptr || id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = handle->id;
  return CUPTI_SUCCESS;
}

}  // namespace

extern "C" {

CUptiResult CUPTIAPI cuptiGetVersion(uint32_t* version) {
  const char* other = std::getenv("STANDIN_CUPTI_VERSION");
  *version = other != nullptr ? static_cast<uint32_t>(std::atoi(other)) : CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t number,
                                          const char** name) {
  static constexpr struct {
    CUpti_CallbackDomain domain;
    uint32_t number;
    const char* name;
  } kNames[] = {
#include "standin_callback_names.inc"
  };
  for (const auto& known : kNames) {
    if (known.domain != domain || known.number != number) continue;
    *name = known.name;
    return CUPTI_SUCCESS;
  }
  return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char** text) {
  switch (result) {
    case CUPTI_SUCCESS:
      *text = "CUPTI_SUCCESS";
      break;
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      *text = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
      break;
    case CUPTI_ERROR_UNKNOWN:
      *text = "CUPTI_ERROR_UNKNOWN";
      break;
    default:
      *text = "another error of the stand-in";
      break;
  }
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t* ns) {
  *ns = timestamp();
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                    void* userdata) {
  return subscribe(subscriber, callback, userdata, nullptr);
}

#if CUDA_VERSION >= 13000
// One subscriber at a time, also for those who would allow more.
CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber,
                                       CUpti_CallbackFunc callback, void* userdata,
                                       CUpti_SubscriberParams* params) {
  if (params != nullptr && params->structSize == 0) return CUPTI_ERROR_INVALID_PARAMETER;
  const CUptiResult result = subscribe(subscriber, callback, userdata,
                                       params != nullptr ? params->subscriberName : nullptr);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && params != nullptr &&
      params->oldSubscriberName != nullptr && params->oldSubscriberSize != 0) {
    std::snprintf(params->oldSubscriberName, params->oldSubscriberSize, "%s", state().name.c_str());
  }
  return result;
}
#endif

CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  State& s = state();
  if (!isSubscriber(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
  for (auto& domain : s.callbacks) {
    for (auto& enabled : domain) enabled.store(false);
  }
  s.callback.store(nullptr);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  if (!isSubscriber(subscriber) || cbid == 0 || cbid >= callbackIds(domain)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  state().callbacks[domain][cbid].store(enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                       CUpti_CallbackDomain domain) {
  const uint32_t count = callbackIds(domain);
  if (!isSubscriber(subscriber) || count == 0) return CUPTI_ERROR_INVALID_PARAMETER;
  for (uint32_t id = 1; id < count; ++id) state().callbacks[domain][id].store(enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                    CUpti_BuffersCallbackCompleteFunc complete) {
  State& s = state();
  if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::lock_guard filling(s.filling);
  const std::lock_guard lock(s.mutex);
  s.request = request;
  s.complete = complete;
  if (!s.has_worker) std::thread(work).detach();
  s.has_worker = true;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT) {
    return CUPTI_ERROR_INVALID_KIND;
  }
  if (driverLibrary() == nullptr) return CUPTI_ERROR_UNKNOWN;
  state().kinds[kind].store(true);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind) {
  if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT) {
    return CUPTI_ERROR_INVALID_KIND;
  }
  state().kinds[kind].store(false);
  return CUPTI_SUCCESS;
}

// In a forked child it waits for ever, as the vendor's: there is no worker.
CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag) {
  State& s = state();
  if (in_buffer_callback) misuse("cuptiActivityFlushAll from a callback for buffers");
  if (in_other_callback) misuse("cuptiActivityFlushAll from a callback for a resource");
  std::unique_lock lock(s.mutex);
  if (!s.has_worker) return CUPTI_ERROR_INVALID_OPERATION;
  s.flush.forced |= (flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0;
  const uint64_t mine = ++s.flush.asked;
  s.wake.notify_one();
  s.flushed.wait(lock, [&] { return s.flush.done >= mine; });
  return CUPTI_SUCCESS;
}

// Buffers that are full and complete are handed over at once, with a period or without.
CUptiResult CUPTIAPI cuptiActivityFlushPeriod(uint32_t) { return CUPTI_SUCCESS; }

CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes,
                                                CUpti_Activity** record) {
  if (buffer == nullptr || record == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  uint8_t* next = buffer;
  if (*record != nullptr) {
    next = reinterpret_cast<uint8_t*>(*record) + recordBytes((*record)->kind);
  }
  if (next >= buffer + valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return recordBytes((*record)->kind) != 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  if (dropped == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::lock_guard lock(state().mutex);
  *dropped = std::exchange(state().dropped, 0);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t* bytes,
                                               void* value) {
#if CUDA_VERSION >= 13000
  constexpr int kLast = CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS;
#else
  constexpr int kLast = CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED;
#endif
  if (bytes == nullptr || value == nullptr || attribute < 0 || attribute > kLast) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  uint64_t& kept = state().attributes[attribute];
  kept = 0;
  std::memcpy(&kept, value, std::min(*bytes, sizeof kept));
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t* bytes,
                                               void* value) {
  if (bytes == nullptr || value == nullptr || attribute < 0 ||
      static_cast<size_t>(attribute) >= kAttributes) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *bytes = std::min(*bytes, sizeof(uint64_t));
  std::memcpy(value, &state().attributes[attribute], *bytes);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  if (clock == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  for (auto& enabled : state().kinds) {
    if (enabled.load()) misuse("a timestamp callback is registered after a kind is enabled");
  }
  state().clock.store(clock);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnableLatencyTimestamps(uint8_t enable) {
  state().latency.store(enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  state().system_thread_ids.store(type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetContextId(CUcontext context, uint32_t* id) {
  return context == nullptr ? CUPTI_ERROR_INVALID_CONTEXT : idOf(context, id);
}

CUptiResult CUPTIAPI cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t, uint32_t* id) {
  if (id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  void* library = driverLibrary();
  if (stream == nullptr && context == nullptr && library != nullptr) {
    context = reinterpret_cast<decltype(&standinCurrentContext)>(
        dlsym(library, "standinCurrentContext"))();
  }
  if (stream == nullptr && context != nullptr) stream = context->streams.front();
  if (stream == nullptr || (context != nullptr && stream->context != context)) {
    return CUPTI_ERROR_INVALID_STREAM;
  }
  return idOf(stream, id);
}

CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext context, uint32_t* id) {
  if (id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = context != nullptr ? static_cast<uint32_t>(context->device) : 0;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetGraphId(CUgraph graph, uint32_t* id) { return idOf(graph, id); }
CUptiResult CUPTIAPI cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id) { return idOf(node, id); }
#if CUDA_VERSION >= 12000
CUptiResult CUPTIAPI cuptiGetGraphExecId(CUgraphExec exec, uint32_t* id) { return idOf(exec, id); }
#endif
#if CUDA_VERSION >= 13050
CUptiResult CUPTIAPI cuptiGetCudaEventId(CUevent event, uint32_t* id) { return idOf(event, id); }
#endif

CUptiResult CUPTIAPI cuptiFinalize() {
  State& s = state();
  for (auto& enabled : s.kinds) enabled.store(false);
  if (s.callback.load() != nullptr) cuptiUnsubscribe(reinterpret_cast<CUpti_SubscriberHandle>(&s));
  return CUPTI_SUCCESS;
}

}  // extern "C"
