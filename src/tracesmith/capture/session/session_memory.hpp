// SPDX-License-Identifier: Apache-2.0
// The memory through which a TracingSession's threads hand records to its drainer: names and rings,
// shared with forked children, which find it at the same place.
//
//   +----------------+
//   | SessionHeader  |
//   | names          |  kNameBytes: u32 length, bytes, from 8 to 8; a name's id is its place / 8
//   | SessionRing[n] |
//   | ring 0 words   |  ring_bytes each; pages come when they are first written
//   | ring 1 words   |
//   | ...            |
//   +----------------+
//
// A ring has one writing thread at a time. A thread that ends leaves its ring, and the drainer
// gives it free when it is empty. Measured by session_bench.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "tracesmith/base/clock_source.hpp"
#include "tracesmith/base/overflow_policy.hpp"
#include "tracesmith/base/record_ring.hpp"
#include "tracesmith/base/result.hpp"

namespace tracesmith::session {

// --- Records: a header word (ring::headerWord), then words ------------------------------------

enum class RecordKind : uint8_t {
  kSpan = 1,     // header's aux: name. start stamp, end stamp
  kMarker = 2,   // aux: name. stamp
  kCounter = 3,  // aux: track. stamp, value (double)
  kAlloc = 4,    // aux: allocator's name. stamp, address, bytes
  kFree = 5,     // aux: allocator's name. stamp, address, bytes
  kEvent = 6,    // aux: length in bytes. An encoded TraceEvent, see event_record.hpp
};

enum class Owner : uint32_t { kNobody = 0, kThread = 1, kLeft = 2, kClaiming = 3 };

struct SessionRing {
  ring::Control<> control;
  alignas(64) std::atomic<uint32_t> owner{0};  // Owner
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint32_t life = 0;     // grows with each new owner
  bool foreign = false;  // of another pid namespace: `pid` says nothing to the drainer
  char thread_name[16] = {};
  std::atomic<uint64_t> counters{0};    // of the records emitted, how many were counters
  std::atomic<uint64_t> blocked_ns{0};  // time that threads waited for room
  uint32_t busy = 0;                    // inside a record: a signal handler must not begin another
};

struct SessionHeader {
  uint64_t bytes = 0;
  uint64_t ring_bytes = 0;
  uint32_t ring_count = 0;
  uint32_t drainer_pid = 0;
  uint64_t pid_namespace = 0;  // the drainer's
  OverflowPolicy policy{};
  bool use_counter = false;                   // stamps are the counter's, else CLOCK_MONOTONIC ns
  alignas(64) std::atomic<uint32_t> wake{0};  // futex: the drainer is wanted
  std::atomic<uint32_t> open{0};              // 0: ended, nothing is taken any more
  std::atomic<int64_t> drainer_alive_ns{0};
  alignas(64) std::atomic<uint32_t> rings_used{0};  // no ring from here on was ever claimed
  std::atomic<uint32_t> names_end{8};               // bytes; the first name's id is 1
  std::atomic<uint64_t> dropped_without_ring{0};
  std::atomic<uint64_t> dropped_reentrant{0};
  std::atomic<uint64_t> dropped_too_large{0};
};

constexpr uint32_t kNameBytes = 16u << 20;
constexpr uint32_t kNoRoomName = 1;  // the first id
constexpr uint64_t kMinRingBytes = 4u << 10;
constexpr uint64_t kMaxRingBytes = 256u << 20;

class SessionMemory {
 public:
  /// `rings` threads at once, `ring_bytes` (rounded up to a power of two) for each. Address space
  /// only: memory comes as it is used. Error: the system refuses so much.
  static Result<std::unique_ptr<SessionMemory>> create(uint32_t rings, uint64_t ring_bytes,
                                                       OverflowPolicy policy);
  ~SessionMemory();
  SessionMemory(const SessionMemory&) = delete;
  SessionMemory& operator=(const SessionMemory&) = delete;

  SessionHeader& header() const { return *static_cast<SessionHeader*>(base_); }
  SessionRing& ring(uint32_t i) const { return rings_[i]; }
  uint64_t* words(uint32_t i) const { return words_ + i * (header().ring_bytes / 8); }

  /// Id of a new name; when there is no room for more, of one that says so. Equal names get
  /// different ids: the caller keeps them apart, and the drainer brings them together. [any thread]
  uint32_t addName(std::string_view name) const;
  /// "" for an id that is none.
  std::string_view name(uint32_t id) const;
  /// Whether addName() may have given this.
  static constexpr bool canBeName(uint32_t id) { return id != 0 && id < kNameBytes / 8; }

  /// A ring for the calling thread, or -1: all are taken.
  int claimRing() const;
  /// The calling thread will not write to it again.
  void leaveRing(uint32_t i) const;

  void wakeDrainer() const;
  /// Returns when it is woken or `timeout_ns` are over.
  void waitForWake(int64_t timeout_ns) const;

 private:
  SessionMemory() = default;
  void* base_ = nullptr;
  SessionRing* rings_ = nullptr;
  uint64_t* words_ = nullptr;
};

/// Where a thread writes. Belongs to the thread.
struct Writer {
  SessionMemory* memory = nullptr;
  SessionRing* ring = nullptr;
  uint64_t* words = nullptr;
  uint64_t capacity = 0;
  OverflowPolicy policy{};
  bool use_counter = false;
  mutable uint32_t open_spans = 0;

  int64_t stamp() const { return stampNow(use_counter); }

  /// Writes a record of `kWords` words: its header and what fill(words after the header) puts
  /// there. False: it was dropped, and counted. [hot]
  template <uint32_t kWords, class Fill>
  bool write(RecordKind kind, uint32_t aux, Fill&& fill) const {
    constexpr uint64_t kBytes = 8 * kWords;
    if (__builtin_expect(ring->busy != 0, 0)) return reentrant();
    ring->busy = 1;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    ring::RecordRing<> out(ring->control, words, capacity);
    bool taken = true;
    if (__builtin_expect(policy == OverflowPolicy::DropOldest, 0)) {
      uint64_t record[kWords];
      record[0] = ring::headerWord(static_cast<uint8_t>(kind), kWords, aux);
      fill(record + 1);
      out.pushOverOldest(record, kBytes);
      wakeWhenHalfFull();
    } else {
      uint64_t* record = out.reserve(
          kBytes, [this](uint64_t head, uint64_t need) { return makeRoom(head, need); });
      if (__builtin_expect(record != nullptr, 1)) {
        record[0] = ring::headerWord(static_cast<uint8_t>(kind), kWords, aux);
        fill(record + 1);
        out.commit(kBytes);
      } else {
        out.drop();
        taken = false;
      }
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    ring->busy = 0;
    return taken;
  }

  /// The same for a record whose length is known only now: `record` is whole, header included.
  bool writeWhole(const uint64_t* record, uint64_t record_words) const;
  /// Looks how far the drainer has come, wakes it when half the ring is full, and with Block waits.
  bool makeRoom(uint64_t head, uint64_t need) const;
  bool reentrant() const;
  /// For DropOldest, which never asks for room.
  void wakeWhenHalfFull() const {
    ring::Control<>& c = ring->control;
    const uint64_t head = c.head.load(std::memory_order_relaxed);
    if (head - c.cached_tail <= capacity / 2) return;
    c.cached_tail = c.tail.load(std::memory_order_acquire);
    if (head - c.cached_tail > capacity / 2) memory->wakeDrainer();
  }
};

}  // namespace tracesmith::session
