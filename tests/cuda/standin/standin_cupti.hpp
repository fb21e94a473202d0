// SPDX-License-Identifier: Apache-2.0
// What the files of the stand-in for libcupti share: its state, and how a record gets into a
// buffer.
#pragma once

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "standin.hpp"
#include "standin_records.hpp"

namespace standin {

constexpr size_t kCallbackIds = 1024;  // more than any domain has
static_assert(CUPTI_DRIVER_TRACE_CBID_SIZE < kCallbackIds);
constexpr size_t kAttributes = 32;
constexpr int kPerThreadBuffers = 9;  // the attribute that later headers have

// Ends the program: the client did what the documentation forbids.
[[noreturn]] void misuse(const char* what);

struct Client;

struct Buffer {
  Client* client = nullptr;
  uint8_t* memory = nullptr;
  size_t size = 0, used = 0, records = 0, most_records = 0;
  size_t open = 0;      // records that are not complete yet
  uint64_t thread = 0;  // whose it is
  bool handed_over = false;
};

// A record that lies in a buffer without its times, and perhaps without its kind.
struct Open {
  uint64_t due_ns;
  std::shared_ptr<Buffer> buffer;
  uint8_t *start, *end, *completed, *kind;
  uint64_t start_ns, end_ns;
  int32_t kind_value;
  bool operator<(const Open& other) const { return due_ns > other.due_ns; }
};

struct Flush {
  uint64_t asked = 0, done = 0;
  bool forced = false;
};

// A field of a record: where it is in the whole one, and how long there and when it is selected.
struct Field {
  int id;
  size_t offset, size, wide;
};

std::span<const Field> fieldsOf(CUpti_ActivityKind kind);

// What a record of a kind consists of whose fields a client has selected.
struct Layout {
  std::vector<Field> fields;
  std::vector<size_t> offsets;
  size_t bytes = 0;
  void* reported = nullptr;  // in the form that the client is told of it
};

using RequestWithInfo = void (*)(uint8_t**, size_t*, size_t*, void*);
using CompleteWithInfo = void (*)(uint8_t*, size_t, size_t, void*);

// One that takes callbacks and records: a subscriber. The first is also who uses the functions that
// name no subscriber.
// A client's clock beside the device's: what to add to the device's time to have the client's,
// whose clock may tick otherwise, as a time stamp counter does.
struct ClockOffset {
  uint64_t device = 0, client = 0;
  double rate = 1;
};

inline uint64_t operator+(uint64_t device_ns, const ClockOffset& c) {
  const auto since = static_cast<double>(static_cast<int64_t>(device_ns - c.device));
  return c.client + static_cast<uint64_t>(static_cast<int64_t>(since * c.rate));
}

struct Client {
  std::atomic<bool> is_subscribed{false};
  std::atomic<CUpti_CallbackFunc> callback{nullptr};
  void* userdata = nullptr;
  std::string name = "CUPTI";
  std::atomic<bool> callbacks[CUPTI_CB_DOMAIN_SIZE][kCallbackIds] = {};

  std::atomic<bool> kinds[CUPTI_ACTIVITY_KIND_COUNT] = {};
  std::atomic<Layout*> layouts[CUPTI_ACTIVITY_KIND_COUNT] = {};
  std::atomic<CUpti_TimestampCallbackFunc> clock{nullptr};
  ClockOffset first_reading;  // of its clock
  std::atomic<bool> latency{false}, system_thread_ids{false};
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  RequestWithInfo request_with_info = nullptr;
  CompleteWithInfo complete_with_info = nullptr;
  uint64_t attributes[kAttributes] = {};

  std::map<uint64_t, std::shared_ptr<Buffer>> active;  // by thread; 0: of all
  std::vector<std::shared_ptr<Buffer>> retired;
  size_t dropped = 0, records = 0;

  Client();
  bool hasCallbacks() const { return complete != nullptr || complete_with_info != nullptr; }
  bool anyKind() const;
  uint64_t timestamp() const;
};

struct State {
  const pid_t pid = getpid();
  Client clients[kStandinSubscribers];
  std::atomic<uint32_t> correlation{
      static_cast<uint32_t>(standinScript("correlation_start", 1) - 1)};

  std::mutex subscribing;
  uint8_t many = 2;    // whether several subscribers are let in; 2: nobody has said so
  std::mutex filling;  // one record after the other; held while a buffer is asked for
  std::mutex mutex;    // of what follows; never held in a callback
  std::condition_variable wake, flushed;
  std::priority_queue<Open> open;
  Flush flush;
  bool has_worker = false;
  std::vector<uint32_t> unified_counters;  // that are configured

  const uint64_t drop_every = standinScript("drop_every", 0);
  const uint64_t zero_times = standinScript("zero_times", 0);
  const uint64_t late_ns = standinScript("late_ms", 0) * 1'000'000;
  const uint64_t other_subscriber = standinScript("second_subscriber", 0);
  const bool deny_all = standinScript("deny_all", 0) != 0;
  const uint64_t subscribe_error = standinScript("subscribe_error", 0);
  const bool whole_graphs = standinScript("whole_graphs", 0) != 0;
  const uint64_t denied_kind = standinScript("deny_kind", 0);
  const bool lazy_kinds = standinScript("lazy_kinds", 0) != 0;
  const bool no_driver = standinScript("no_driver", 0) != 0;
  const bool exit_during_flush = standinScript("exit_during_flush", 0) != 0;
  std::atomic<size_t> kernels{0};
};

// The process's own; never destroyed, for the worker outlives main.
State& state();

// What libcuda is to call.
extern const StandinTool kTool;

// Whether the thread is in a client's callback for buffers, or in one for a resource.
extern thread_local bool in_buffer_callback;
extern thread_local bool in_resource_callback;

inline Client& first() { return state().clients[0]; }

// Whether anybody wants records of the kind.
inline bool on(CUpti_ActivityKind kind) {
  for (const Client& client : state().clients) {
    if (client.kinds[kind].load(std::memory_order_relaxed)) return true;
  }
  return false;
}

// The best of some readings of both clocks, for one may be interrupted.
ClockOffset readClocks(const Client& client);
ClockOffset clockOffset(const Client& client);

// A function of libcuda, or null.
void* driverSymbol(const char* name);

// Records of what is not work on a stream.
void putMemory(const StandinWork& work);
void putPool(const StandinWork& work);
void putUnified(const StandinWork& work);
void putJit(const StandinWork& work);
void putExternal(uint32_t correlation);
CUptiResult pushExternal(const Client& client, CUpti_ExternalCorrelationKind kind, uint64_t id);
CUptiResult popExternal(const Client& client, CUpti_ExternalCorrelationKind kind, uint64_t* last);

// The bytes of a whole record; 0 for what is none.
size_t recordBytes(CUpti_ActivityKind kind);

// The next record of a buffer, by the client's layouts where it has selected fields.
CUptiResult nextRecord(const Client& client, uint8_t* buffer, size_t valid_bytes,
                       CUpti_Activity** record);

uint32_t version();
bool isSubscriber(CUpti_SubscriberHandle subscriber);
inline Client& clientOf(CUpti_SubscriberHandle subscriber) {
  return *reinterpret_cast<Client*>(subscriber);
}
CUptiResult subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                      void* userdata, const char* name, bool many, std::string* other);
CUptiResult enableKind(Client& client, CUpti_ActivityKind kind);
CUptiResult setAttribute(Client& client, int attribute, size_t* bytes, const void* value);
CUptiResult getAttribute(const Client& client, int attribute, size_t* bytes, void* value);
void startWorker(State& s);
// The client's kinds and buffers are gone, and its memory is not touched again.
void forget(Client& client);

// Where a record's times are, or kNowhere.
constexpr size_t kNowhere = SIZE_MAX;
struct Times {
  size_t start = kNowhere, end = kNowhere, completed = kNowhere;
};

// Puts a record into a buffer of the client, or drops and counts it. With `open` its times follow.
void store(Client& client, CUpti_ActivityKind kind, const uint8_t* record, size_t bytes,
           const Times& times, const StandinWork* open);

// Times in a record are the device's; each client has them by its own clock.
template <typename Record>
void put(Client& client, Record record, const StandinWork* open = nullptr) {
  static_assert(sizeof(Record) % 8 == 0);
  if (!client.kinds[record.kind].load(std::memory_order_relaxed)) return;
  const ClockOffset offset = clockOffset(client);
  Times times;
#define STANDIN_TIME(field)                 \
  if constexpr (requires { record.field; }) \
  record.field = record.field != 0 ? record.field + offset : 0
  STANDIN_TIME(start);
  STANDIN_TIME(end);
  STANDIN_TIME(queued);
  STANDIN_TIME(submitted);
  STANDIN_TIME(timestamp);
#undef STANDIN_TIME
  if constexpr (requires {
                  record.start;
                  record.end;
                }) {
    times = {offsetof(Record, start), offsetof(Record, end), kNowhere};
  }
  if constexpr (requires { record.completed; }) times.completed = offsetof(Record, completed);
  store(client, record.kind, reinterpret_cast<const uint8_t*>(&record), sizeof record, times, open);
}

template <typename Record>
void put(const Record& record, const StandinWork* open = nullptr) {
  for (Client& client : state().clients) put(client, record, open);
}

}  // namespace standin
