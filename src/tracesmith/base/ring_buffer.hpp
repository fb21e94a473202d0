// SPDX-License-Identifier: Apache-2.0
// RingBuffer<T>: passes values of one type from one thread to another, without locks. It is built
// on RecordRing (record_ring.hpp), which carries records of any length.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include "tracesmith/base/overflow_policy.hpp"
#include "tracesmith/base/record_ring.hpp"

namespace tracesmith {

/// One thread pushes and one thread pops; any thread may read the counts. Under every policy,
/// pushed = popped + dropped once the buffer is empty.
template <class T>
class RingBuffer {
  static_assert(
      std::is_trivially_copyable_v<T>,
      "values are copied bytewise between threads; for types that own memory use TracingSession");

 public:
  /// Room for at least `capacity` values; see capacity().
  explicit RingBuffer(size_t capacity, OverflowPolicy policy = OverflowPolicy::DropOldest)
      : policy_(policy),
        words_(std::make_unique<uint64_t[]>(ringWords(capacity))),
        ring_(control_, words_.get(), 8 * ringWords(capacity)) {
    if (policy == OverflowPolicy::DropOldest) {
      scratch_ = std::make_unique<uint64_t[]>(ringWords(capacity));
    }
  }
  RingBuffer(const RingBuffer&) = delete;
  RingBuffer& operator=(const RingBuffer&) = delete;

  /// False if the value was dropped. DropOldest accepts it and drops the oldest instead. Block
  /// waits until there is room, or until close(). [the pushing thread]
  bool push(const T& value) {
    if (policy_ == OverflowPolicy::DropOldest) {
      uint64_t record[kRecordWords];
      fill(record, value);
      ring_.pushOverOldest(record, kRecordBytes);
      return true;
    }
    uint64_t* room = ring_.reserve(kRecordBytes);
    if (__builtin_expect(room == nullptr, 0)) {
      if (policy_ == OverflowPolicy::Block) room = waitForRoom();
      if (room == nullptr) {
        ring_.drop();
        return false;
      }
    }
    fill(room, value);
    ring_.commit(kRecordBytes);
    return true;
  }

  /// The oldest value, if any. [the popping thread]
  std::optional<T> pop() {
    std::optional<T> value;
    do {
      drain([&](const T& v) { value = v; }, 1);
    } while (!value && !drainedAll());
    return value;
  }
  /// Appends up to `max` values to `out`; returns their number. [the popping thread]
  size_t popBatch(std::vector<T>& out, size_t max) {
    size_t taken = 0;
    while (taken < max) {  // one drain stops at the end of the ring
      const size_t before = taken;
      drain(
          [&](const T& v) {
            out.push_back(v);
            ++taken;
          },
          max - taken);
      if (taken == before && drainedAll()) break;
    }
    return taken;
  }

  /// Ends the wait of a blocked push(), now and in future: it drops its value. [any thread]
  void close() { closed_.store(true, std::memory_order_relaxed); }

  bool empty() const { return size() == 0; }
  /// Exact for the pushing or the popping thread, approximate for others. [any thread]
  size_t size() const {
    // Read in this order, `gone` is never larger than `came`.
    const uint64_t gone = control_.delivered.load(std::memory_order_acquire) +
                          control_.dropped.load(std::memory_order_acquire);
    const uint64_t came = control_.emitted.load(std::memory_order_acquire);
    return came > gone ? std::min<size_t>(came - gone, capacity()) : 0;
  }
  /// Number of values that fit; the requested capacity or somewhat more.
  size_t capacity() const { return ring_.capacity() / kRecordBytes; }
  uint64_t pushedCount() const { return control_.emitted.load(std::memory_order_relaxed); }
  uint64_t droppedCount() const { return control_.dropped.load(std::memory_order_relaxed); }
  /// Discards values and counts. Neither thread may use the buffer meanwhile.
  void reset() {
    control_.head = control_.tail = 0;
    control_.cached_tail = control_.cached_head = 0;
    control_.emitted = control_.dropped = control_.delivered = 0;
    closed_ = false;
  }

 private:
  static constexpr uint64_t kRecordWords = 1 + (sizeof(T) + 7) / 8;
  static constexpr uint64_t kRecordBytes = 8 * kRecordWords;
  static_assert(kRecordWords <= ring::kMaxRecordWords);
  static constexpr int kYields = 500;  // before a blocked push() sleeps

  /// A record may take at most half of the ring.
  static size_t ringWords(size_t capacity) {
    return std::bit_ceil(std::max<size_t>(capacity, 2) * kRecordWords);
  }
  static void fill(uint64_t* record, const T& value) {
    record[0] = ring::headerWord(1, kRecordWords);
    std::memcpy(record + 1, &value, sizeof(T));
  }

  uint64_t* waitForRoom() {
    for (int tries = 0; !closed_.load(std::memory_order_relaxed); ++tries) {
      if (tries < kYields) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
      if (uint64_t* room = ring_.reserve(kRecordBytes)) return room;
    }
    return nullptr;
  }

  /// False if a drain may have returned nothing only because push() removed the records that it had
  /// copied.
  bool drainedAll() const {
    return policy_ != OverflowPolicy::DropOldest ||
           control_.head.load(std::memory_order_acquire) ==
               control_.tail.load(std::memory_order_acquire);
  }

  template <class Sink>
  void drain(Sink&& sink, size_t max) {
    auto take = [&](const uint64_t* record, uint64_t) {
      T value;
      std::memcpy(static_cast<void*>(&value), record + 1, sizeof(T));
      sink(value);
    };
    const uint64_t limit = max > UINT64_MAX / kRecordBytes ? UINT64_MAX : max * kRecordBytes;
    if (policy_ == OverflowPolicy::DropOldest) {
      ring_.drainCopies(scratch_.get(), take, limit);
    } else {
      ring_.drain(take, limit);
    }
  }

  const OverflowPolicy policy_;
  std::unique_ptr<uint64_t[]> words_;
  std::unique_ptr<uint64_t[]> scratch_;  // used by the popping thread
  ring::Control<> control_;
  ring::RecordRing<> ring_;
  std::atomic<bool> closed_{false};
};

}  // namespace tracesmith
