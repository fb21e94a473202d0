// SPDX-License-Identifier: Apache-2.0
// A libcupti of the version whose headers it is compiled with: callbacks on the calling thread, and
// records in the client's buffers, which a worker thread completes and hands over once the device
// would have done the work. What the documentation forbids a client ends the program with a
// message.
#include "standin_cupti.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

namespace standin {

thread_local bool in_buffer_callback = false;
thread_local bool in_resource_callback = false;

void misuse(const char* what) {
  std::fprintf(stderr, "libcupti stand-in: %s\n", what);
  std::abort();
}

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

uint64_t timestamp() {
  if (CUpti_TimestampCallbackFunc clock = state().clock.load()) return clock();
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

namespace {

// The best of some readings, for one may be interrupted.
ClockOffset readClocks() {
  uint64_t narrowest = UINT64_MAX;
  ClockOffset best{0, 0, 1};
  for (int i = 0; i < 5; ++i) {
    const uint64_t before = standinNow();
    const uint64_t client = timestamp();
    const uint64_t width = standinNow() - before;
    if (width >= narrowest) continue;
    narrowest = width;
    best = {before + width / 2, client, 1};
  }
  return best;
}

}  // namespace

ClockOffset clockOffset() {
  constexpr uint64_t kLongEnough = 2'000'000;
  static const ClockOffset first = readClocks();
  if (const uint64_t now = standinNow(); now < first.device + kLongEnough) {
    const timespec rest{0, static_cast<long>(first.device + kLongEnough - now)};
    nanosleep(&rest, nullptr);
  }
  ClockOffset offset = readClocks();
  const double rate = static_cast<double>(offset.client - first.client) /
                      static_cast<double>(offset.device - first.device);
  if (rate < 0.999 || rate > 1.001) offset.rate = rate;  // else it counts nanoseconds
  return offset;
}

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

namespace {

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

}  // namespace

void* driverSymbol(const char* name) {
  void* library = driverLibrary();
  return library != nullptr ? dlsym(library, name) : nullptr;
}

namespace {

// --- The worker

void finish(const Open& open, const ClockOffset& offset) {
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
    const CUpti_BuffersCallbackCompleteFunc complete = s.complete;
    lock.unlock();
    in_buffer_callback = true;
    complete(nullptr, 0, buffer->memory, buffer->size, buffer->used);
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
      const ClockOffset offset = clockOffset();
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
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(PeerRecord);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return sizeof(MemoryRecord);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
      return sizeof(PoolRecord);
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
      return sizeof(UnifiedRecord);
    case CUPTI_ACTIVITY_KIND_JIT:
      return sizeof(JitRecord);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return sizeof(CUpti_ActivityExternalCorrelation);
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
}  // namespace standin

using namespace standin;

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
  if (in_resource_callback) misuse("cuptiActivityFlushAll from a callback for a resource");
  std::unique_lock lock(s.mutex);
  if (s.complete == nullptr) return CUPTI_ERROR_INVALID_OPERATION;
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
  (void)clockOffset();  // from here on it is known how fast it ticks
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
  if (stream == nullptr && context == nullptr) {
    const auto current =
        reinterpret_cast<decltype(&standinCurrentContext)>(driverSymbol("standinCurrentContext"));
    if (current != nullptr) context = current();
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

// What was not flushed before is gone, and the client's memory is not touched again.
CUptiResult CUPTIAPI cuptiFinalize() {
  State& s = state();
  for (auto& enabled : s.kinds) enabled.store(false);
  if (s.callback.load() != nullptr) cuptiUnsubscribe(reinterpret_cast<CUpti_SubscriberHandle>(&s));
  const std::lock_guard filling(s.filling);
  const std::lock_guard lock(s.mutex);
  s.request = nullptr;
  s.complete = nullptr;
  s.active = nullptr;
  s.retired.clear();
  s.open = {};
  s.clock.store(nullptr);
  return CUPTI_SUCCESS;
}

}  // extern "C"
