// SPDX-License-Identifier: Apache-2.0
// What the files of the stand-in for libcupti share: its state, and how a record gets into a
// buffer.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "standin.hpp"
#include "standin_records.hpp"

namespace standin {

constexpr size_t kCallbackIds = 1024;  // more than any domain has
static_assert(CUPTI_DRIVER_TRACE_CBID_SIZE < kCallbackIds);
constexpr size_t kAttributes = 32;

// Ends the program: the client did what the documentation forbids.
[[noreturn]] void misuse(const char* what);

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

  std::vector<uint32_t> unified_counters;  // that are configured

  const uint64_t drop_every = standinScript("drop_every", 0);
  const uint64_t zero_times = standinScript("zero_times", 0);
  const uint64_t late_ns = standinScript("late_ms", 0) * 1'000'000;
  const bool other_subscriber = standinScript("second_subscriber", 0) != 0;
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

inline bool on(CUpti_ActivityKind kind) {
  return state().kinds[kind].load(std::memory_order_relaxed);
}

// The client's clock.
uint64_t timestamp();

// The client's clock beside the device's: what to add to the device's time to have the client's,
// whose clock may tick otherwise, as a time stamp counter does.
struct ClockOffset {
  uint64_t device, client;
  double rate;
};
ClockOffset clockOffset();

inline uint64_t operator+(uint64_t device_ns, const ClockOffset& c) {
  const auto since = static_cast<double>(static_cast<int64_t>(device_ns - c.device));
  return c.client + static_cast<uint64_t>(static_cast<int64_t>(since * c.rate));
}

// A function of libcuda, or null.
void* driverSymbol(const char* name);

// Records of what is not work on a stream.
void putMemory(const StandinWork& work);
void putPool(const StandinWork& work);
void putUnified(const StandinWork& work);
void putJit(const StandinWork& work);
void putExternal(uint32_t correlation);

// Asks the client for a buffer; it may have none.
std::shared_ptr<Buffer> requestBuffer();

inline void retire(State& s) {
  if (s.active == nullptr || s.active->used == 0) return;
  s.retired.push_back(std::move(s.active));
  s.active = nullptr;
}

inline bool fits(const State& s, size_t bytes) {
  return s.active != nullptr && s.active->size - s.active->used >= bytes &&
         (s.active->most_records == 0 || s.active->records < s.active->most_records);
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

}  // namespace standin
