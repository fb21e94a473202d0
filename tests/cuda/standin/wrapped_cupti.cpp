// SPDX-License-Identifier: Apache-2.0
// A library around the stand-in for libcupti, which TRACESMITH_CUPTI names. It writes down what a
// client asks for, and can falsify what the client gets, so that a check can be shown to notice.
// Functions that are not here are found in the stand-in, which is linked.
//
// STANDIN_REQUESTS=FILE gets one line for each request: "kind N", "field KIND N", "callback DOMAIN
// N", "attribute N VALUE", "buffer BYTES", "clock", "subscriber".
// STANDIN_SCRIPT may have, beside what standin.hpp lists:
//   wrap_kernel_shift_ns=N   kernels start and end so much later (or, with -N, earlier)
//   wrap_drift_ppm=N         and so much later for each second of the run
//   wrap_stretch=N           kernels take N times as long
//   wrap_lose_kernels=N      every Nth kernel's record is missing, and is not counted
//   wrap_lose_graphs=1       those of kernels of graphs are missing
//   wrap_memory_bytes=N      allocations are reported N bytes larger
//   wrap_waits=1             waits for an event name the recording before
//   wrap_lose_calls=N        every Nth call is not told of
//   wrap_refuse=N            nobody may subscribe: error N
// What is falsified is what clients get by functions that name no subscriber; with
// STANDIN_CUPTI_VERSION=130001 that is all.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <vector>

#include "standin.hpp"
#include "standin_records.hpp"

namespace {

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}
#define NEXT(function) next<decltype(&(function))>(#function)

__attribute__((format(printf, 1, 2))) void note(const char* format, ...) {
  const char* const file = std::getenv("STANDIN_REQUESTS");
  if (file == nullptr) return;
  char line[200];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  const int fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return;
  if (write(fd, line, static_cast<size_t>(length)) < 0) std::abort();
  close(fd);
}

// --- Callbacks ----------------------------------------------------------------------------------

std::atomic<CUpti_CallbackFunc> client_callback{nullptr};

void CUPTIAPI onCall(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                     const void* data) {
  static const uint64_t lose = standinScript("wrap_lose_calls", 0);
  const bool is_call =
      domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  if (lose != 0 && is_call &&
      static_cast<const CUpti_CallbackData*>(data)->correlationId % lose == 0) {
    return;
  }
  if (const CUpti_CallbackFunc callback = client_callback.load()) callback(user, domain, id, data);
}

// --- Records ------------------------------------------------------------------------------------

CUpti_BuffersCallbackRequestFunc client_request = nullptr;
CUpti_BuffersCallbackCompleteFunc client_complete = nullptr;
CUpti_BuffersCallbackRequestFunc_v2 client_request2 = nullptr;
std::atomic<uint64_t> kernels{0};

void CUPTIAPI request(uint8_t** buffer, size_t* size, size_t* most) {
  client_request(buffer, size, most);
  note("buffer %zu\n", *size);
}

void CUPTIAPI request2(uint8_t** buffer, size_t* size, size_t* most,
                       CUpti_BufferCallbackRequestInfo* info) {
  client_request2(buffer, size, most, info);
  note("buffer %zu\n", *size);
}

// A client's clock need not count nanoseconds.
std::atomic<CUpti_TimestampCallbackFunc> client_clock{nullptr};
uint64_t first_ns = 0, first_time = 0;

void noteClock(CUpti_TimestampCallbackFunc clock) {
  note("clock\n");
  first_ns = standinNow();
  first_time = clock();
  client_clock.store(clock);
}

double unitsOfNs() {
  const CUpti_TimestampCallbackFunc clock = client_clock.load();
  if (clock == nullptr) return 1;
  return static_cast<double>(clock() - first_time) / static_cast<double>(standinNow() - first_ns);
}

void falsify(KernelRecord& kernel) {
  static const uint64_t shift = static_cast<uint64_t>(static_cast<int64_t>(
      static_cast<double>(static_cast<int64_t>(standinScript("wrap_kernel_shift_ns", 0))) *
      unitsOfNs()));
  static const uint64_t stretch = standinScript("wrap_stretch", 1);
  static const uint64_t drift_ppm = standinScript("wrap_drift_ppm", 0);
  static const uint64_t began = kernel.start;
  if (kernel.start == 0) return;
  const uint64_t late = shift + (kernel.start - began) / 1000 * drift_ppm / 1000;
  kernel.end = kernel.start + (kernel.end - kernel.start) * stretch + late;
  kernel.start += late;
}

// Whether the record stays.
bool falsify(CUpti_Activity* record) {
  static const uint64_t lose = standinScript("wrap_lose_kernels", 0);
  static const uint64_t lose_graphs = standinScript("wrap_lose_graphs", 0);
  static const uint64_t other_waits = standinScript("wrap_waits", 0);
  static const uint64_t more_bytes = standinScript("wrap_memory_bytes", 0);
  if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    auto& kernel = *reinterpret_cast<KernelRecord*>(record);
    if (lose != 0 && ++kernels % lose == 0) return false;
    if (lose_graphs != 0 && kernel.graphNodeId != 0) return false;
    falsify(kernel);
  }
  if (record->kind == CUPTI_ACTIVITY_KIND_MEMORY2) {
    auto& memory = *reinterpret_cast<MemoryRecord*>(record);
    if (memory.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION) {
      memory.bytes += more_bytes;
    }
  }
  if (record->kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) {
    auto& wait = *reinterpret_cast<SyncRecord*>(record);
    if (wait.type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT) {
      wait.cudaEventSyncId -= other_waits;
    }
  }
  return true;
}

void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t* buffer, size_t size,
                       size_t valid) {
  std::vector<uint8_t*> starts;
  CUpti_Activity* record = nullptr;
  while (valid > 0 && NEXT(cuptiActivityGetNextRecord)(buffer, valid, &record) == CUPTI_SUCCESS) {
    starts.push_back(reinterpret_cast<uint8_t*>(record));
  }
  if (starts.empty()) return client_complete(context, stream, buffer, size, valid);
  starts.push_back(buffer + valid);
  uint8_t* to = buffer;
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    const auto bytes = static_cast<size_t>(starts[i + 1] - starts[i]);
    if (!falsify(reinterpret_cast<CUpti_Activity*>(starts[i]))) continue;
    std::memmove(to, starts[i], bytes);
    to += bytes;
  }
  std::memset(to, 0, static_cast<size_t>(buffer + valid - to));
  client_complete(context, stream, buffer, size, static_cast<size_t>(to - buffer));
}

CUptiResult refusal() { return static_cast<CUptiResult>(standinScript("wrap_refuse", 0)); }

}  // namespace

extern "C" {

CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                    void* user) {
  if (refusal() != CUPTI_SUCCESS) return refusal();
  note("subscriber\n");
  client_callback.store(callback);
  return NEXT(cuptiSubscribe)(subscriber, onCall, user);
}

CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber,
                                       CUpti_CallbackFunc callback, void* user,
                                       CUpti_SubscriberParams* params) {
  if (refusal() != CUPTI_SUCCESS) return refusal();
  note("subscriber\n");
  client_callback.store(callback);
  return NEXT(cuptiSubscribe_v2)(subscriber, onCall, user, params);
}

CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (enable != 0) note("callback %d %u\n", static_cast<int>(domain), id);
  return NEXT(cuptiEnableCallback)(enable, subscriber, domain, id);
}

CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                       CUpti_CallbackDomain domain) {
  if (enable != 0) note("callback %d all\n", static_cast<int>(domain));
  return NEXT(cuptiEnableDomain)(enable, subscriber, domain);
}

CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  note("kind %d\n", static_cast<int>(kind));
  return NEXT(cuptiActivityEnable)(kind);
}

CUptiResult CUPTIAPI cuptiActivityEnable_v2(CUpti_SubscriberHandle subscriber,
                                            CUpti_ActivityKind kind, CUpti_ActivityConfig* config) {
  note("kind %d\n", static_cast<int>(kind));
  for (size_t i = 0; config != nullptr && i < config->fieldSelection.numFields; ++i) {
    note("field %d %d\n", static_cast<int>(kind), config->fieldSelection.pFieldIds[i]);
  }
  return NEXT(cuptiActivityEnable_v2)(subscriber, kind, config);
}

CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t* bytes,
                                               void* value) {
  note("attribute %d %d\n", static_cast<int>(attribute), *static_cast<const uint8_t*>(value));
  return NEXT(cuptiActivitySetAttribute)(attribute, bytes, value);
}

CUptiResult CUPTIAPI cuptiActivitySetAttribute_v2(CUpti_SubscriberHandle subscriber,
                                                  CUpti_ActivityAttribute attribute, size_t* bytes,
                                                  void* value) {
  if (attribute == CUPTI_ACTIVITY_ATTR_TIMESTAMP_CALLBACK) {
    note("clock\n");
  } else {
    note("attribute %d %d\n", static_cast<int>(attribute), *static_cast<const uint8_t*>(value));
  }
  return NEXT(cuptiActivitySetAttribute_v2)(subscriber, attribute, bytes, value);
}

CUptiResult CUPTIAPI cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  noteClock(clock);
  return NEXT(cuptiActivityRegisterTimestampCallback)(clock);
}

CUptiResult CUPTIAPI cuptiActivityEnableLatencyTimestamps(uint8_t enable) {
  note("latency %d\n", enable);
  return NEXT(cuptiActivityEnableLatencyTimestamps)(enable);
}

CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                                    CUpti_BuffersCallbackCompleteFunc completed) {
  client_request = requested;
  client_complete = completed;
  return NEXT(cuptiActivityRegisterCallbacks)(request, complete);
}

CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks_v2(
    CUpti_SubscriberHandle subscriber, CUpti_BuffersCallbackRequestFunc_v2 requested,
    CUpti_BuffersCallbackCompleteFunc_v2 completed) {
  client_request2 = requested;
  return NEXT(cuptiActivityRegisterCallbacks_v2)(subscriber, request2, completed);
}

}  // extern "C"
