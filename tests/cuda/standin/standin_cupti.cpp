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
  static State& only = *new State;
  return only;
}

Client::Client() {
  attributes[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE] = 3'200'000;
  attributes[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT] = 250;
  attributes[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE] = 3;
  attributes[kPerThreadBuffers] = standinScript("per_thread_buffers", CUDA_VERSION >= 13000);
}

bool Client::anyKind() const {
  return std::any_of(std::begin(kinds), std::end(kinds), [](const auto& on) { return on.load(); });
}

uint64_t Client::timestamp() const {
  if (CUpti_TimestampCallbackFunc mine = clock.load()) return mine();
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

ClockOffset readClocks(const Client& client) {
  uint64_t narrowest = UINT64_MAX;
  ClockOffset best;
  for (int i = 0; i < 5; ++i) {
    const uint64_t before = standinNow();
    const uint64_t now = client.timestamp();
    const uint64_t width = standinNow() - before;
    if (width >= narrowest) continue;
    narrowest = width;
    best = {before + width / 2, now, 1};
  }
  return best;
}

ClockOffset clockOffset(const Client& client) {
  const ClockOffset& first = client.first_reading;
  if (first.device == 0) return readClocks(client);
  constexpr uint64_t kLongEnough = 2'000'000;
  if (const uint64_t now = standinNow(); now < first.device + kLongEnough) {
    const timespec rest{0, static_cast<long>(first.device + kLongEnough - now)};
    nanosleep(&rest, nullptr);
  }
  ClockOffset offset = readClocks(client);
  const double rate = static_cast<double>(offset.client - first.client) /
                      static_cast<double>(offset.device - first.device);
  if (rate < 0.999 || rate > 1.001) offset.rate = rate;  // else it counts nanoseconds
  return offset;
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

uint32_t version() {
  const char* other = std::getenv("STANDIN_CUPTI_VERSION");
  return other != nullptr ? static_cast<uint32_t>(std::atoi(other)) : CUPTI_API_VERSION;
}

// Several are let in if all of them want it so.
CUptiResult subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                      void* userdata, const char* name, bool many, std::string* other) {
  State& s = state();
  if (subscriber == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (driverLibrary() == nullptr) return CUPTI_ERROR_UNKNOWN;
  if (s.subscribe_error != 0) return static_cast<CUptiResult>(s.subscribe_error);
  if (CUPTI_API_VERSION >= standinScript("incompatible_from", UINT64_MAX)) {
    return CUPTI_ERROR_NOT_INITIALIZED;
  }
  const std::lock_guard lock(s.subscribing);
  std::string there = s.other_subscriber != 0 ? "CUPTI for another tool" : "";
  bool lets_in = s.other_subscriber != 1;
  Client* free = nullptr;
  for (Client& client : s.clients) {
    if (!client.is_subscribed.load()) {
      if (free == nullptr) free = &client;
      continue;
    }
    if (there.empty()) there = client.name;
    lets_in = lets_in && s.many == 1;
  }
  if (other != nullptr) *other = there;
  if (!there.empty() && !(many && lets_in)) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  if (free == nullptr) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  s.many = many;
  free->userdata = userdata;
  free->callback.store(callback);
  free->name = name != nullptr ? std::string("CUPTI for ") + name : "CUPTI";
  free->is_subscribed.store(true);
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(free);
  return CUPTI_SUCCESS;
}

bool isSubscriber(CUpti_SubscriberHandle subscriber) {
  for (Client& client : state().clients) {
    if (reinterpret_cast<Client*>(subscriber) == &client) return client.is_subscribed.load();
  }
  return false;
}

CUptiResult enableKind(Client& client, CUpti_ActivityKind kind) {
  if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT) {
    return CUPTI_ERROR_INVALID_KIND;
  }
  if (driverLibrary() == nullptr) return CUPTI_ERROR_UNKNOWN;
  if (state().deny_all || state().denied_kind == kind) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  client.kinds[kind].store(true);
  return CUPTI_SUCCESS;
}

CUptiResult setAttribute(Client& client, int attribute, size_t* bytes, const void* value) {
#if CUDA_VERSION >= 13000
  constexpr int kLast = CUPTI_ACTIVITY_ATTR_COUNT - 1;
#else
  constexpr int kLast = kPerThreadBuffers;
#endif
  static_assert(kLast < static_cast<int>(kAttributes));
  if (bytes == nullptr || value == nullptr || attribute < 0 || attribute > kLast) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  if (attribute == kPerThreadBuffers && (client.hasCallbacks() || client.anyKind())) {
    misuse("buffers of threads are set after callbacks are registered or a kind is enabled");
  }
  uint64_t& kept = client.attributes[attribute];
  kept = 0;
  std::memcpy(&kept, value, std::min(*bytes, sizeof kept));
  return CUPTI_SUCCESS;
}

CUptiResult getAttribute(const Client& client, int attribute, size_t* bytes, void* value) {
  if (bytes == nullptr || value == nullptr || attribute < 0 ||
      static_cast<size_t>(attribute) >= kAttributes) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *bytes = std::min(*bytes, sizeof(uint64_t));
  std::memcpy(value, &client.attributes[attribute], *bytes);
  return CUPTI_SUCCESS;
}

namespace {

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

template <typename Id, typename Handle>
CUptiResult idOf(const Handle* handle, Id* id) {
  if (handle == nullptr || id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = handle->id;
  return CUPTI_SUCCESS;
}

}  // namespace

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

}  // namespace standin

using namespace standin;

// Functions that name no subscriber are not for several of them.
#define ONLY_FOR_ONE() \
  if (state().many == 1) return CUPTI_ERROR_NOT_SUPPORTED

extern "C" {

CUptiResult CUPTIAPI cuptiGetVersion(uint32_t* number) {
  if (CUPTI_API_VERSION >= standinScript("version_error_from", UINT64_MAX)) {
    return CUPTI_ERROR_UNKNOWN;
  }
  *number = version();
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
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      *text = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES";
      break;
    case CUPTI_ERROR_NOT_INITIALIZED:
      *text = "CUPTI_ERROR_NOT_INITIALIZED";
      break;
    case CUPTI_ERROR_NOT_COMPATIBLE:
      *text = "CUPTI_ERROR_NOT_COMPATIBLE";
      break;
    case CUPTI_ERROR_NOT_SUPPORTED:
      *text = "CUPTI_ERROR_NOT_SUPPORTED";
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
  *ns = first().timestamp();
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                    void* userdata) {
  return subscribe(subscriber, callback, userdata, nullptr, false, nullptr);
}

CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  State& s = state();
  if (!isSubscriber(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
  Client& client = clientOf(subscriber);
  for (auto& domain : client.callbacks) {
    for (auto& enabled : domain) enabled.store(false);
  }
  client.callback.store(nullptr);
  if (s.many == 1) forget(client);
  const std::lock_guard lock(s.subscribing);
  client.is_subscribed.store(false);
  const bool none = std::none_of(std::begin(s.clients), std::end(s.clients),
                                 [](const Client& c) { return c.is_subscribed.load(); });
  if (none) s.many = 2;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  if (!isSubscriber(subscriber) || cbid == 0 || cbid >= callbackIds(domain)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  clientOf(subscriber).callbacks[domain][cbid].store(enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                       CUpti_CallbackDomain domain) {
  const uint32_t count = callbackIds(domain);
  if (!isSubscriber(subscriber) || count == 0) return CUPTI_ERROR_INVALID_PARAMETER;
  for (uint32_t id = 1; id < count; ++id) {
    clientOf(subscriber).callbacks[domain][id].store(enable != 0);
  }
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                    CUpti_BuffersCallbackCompleteFunc complete) {
  State& s = state();
  if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  ONLY_FOR_ONE();
  const std::lock_guard filling(s.filling);
  const std::lock_guard lock(s.mutex);
  first().request = request;
  first().complete = complete;
  first().request_with_info = nullptr;
  first().complete_with_info = nullptr;
  startWorker(s);
  return CUPTI_SUCCESS;
}

// Copies between devices come with those within one.
CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  ONLY_FOR_ONE();
  if (kind == CUPTI_ACTIVITY_KIND_MEMCPY) enableKind(first(), CUPTI_ACTIVITY_KIND_MEMCPY2);
  return enableKind(first(), kind);
}

CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind) {
  if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT) {
    return CUPTI_ERROR_INVALID_KIND;
  }
  ONLY_FOR_ONE();
  first().kinds[kind].store(false);
  return CUPTI_SUCCESS;
}

// In a forked child it waits for ever, as the vendor's: there is no worker.
CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag) {
  State& s = state();
  if (in_buffer_callback) misuse("cuptiActivityFlushAll from a callback for buffers");
  if (in_resource_callback) misuse("cuptiActivityFlushAll from a callback for a resource");
  std::unique_lock lock(s.mutex);
  if (std::none_of(std::begin(s.clients), std::end(s.clients),
                   [](const Client& client) { return client.hasCallbacks(); })) {
    return CUPTI_ERROR_INVALID_OPERATION;
  }
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
  return nextRecord(first(), buffer, valid_bytes, record);
}

CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  if (dropped == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::lock_guard lock(state().mutex);
  *dropped = std::exchange(first().dropped, 0);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t* bytes,
                                               void* value) {
  ONLY_FOR_ONE();
  return setAttribute(first(), attribute, bytes, value);
}

CUptiResult CUPTIAPI cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t* bytes,
                                               void* value) {
  return getAttribute(first(), attribute, bytes, value);
}

CUptiResult CUPTIAPI cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  if (clock == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  ONLY_FOR_ONE();
  if (version() < 17) return CUPTI_ERROR_NOT_SUPPORTED;
  if (first().anyKind() && standinScript("late_clock", 0) == 0)
    misuse("a timestamp callback is registered after a kind is enabled");
  first().clock.store(clock);
  first().first_reading = readClocks(first());  // from here on it is known how fast it ticks
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnableLatencyTimestamps(uint8_t enable) {
  ONLY_FOR_ONE();
  first().latency.store(enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  ONLY_FOR_ONE();
  first().system_thread_ids.store(type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
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
  for (Client& client : state().clients) {
    forget(client);
    if (client.is_subscribed.load()) {
      cuptiUnsubscribe(reinterpret_cast<CUpti_SubscriberHandle>(&client));
    }
  }
  return CUPTI_SUCCESS;
}

}  // extern "C"
