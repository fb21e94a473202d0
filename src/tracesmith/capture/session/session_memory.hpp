// SPDX-License-Identifier: Apache-2.0
// The memory through which a TracingSession's threads pass records to its drainer: names and rings.
// It is shared with forked children, at the same address.
//
//   +----------------+
//   | SessionHeader  |
//   | names          |  kNameBytes: u32 length, bytes, 8-byte aligned; id of a name: offset / 8
//   | SessionRing[n] |
//   | ring 0 words   |  ring_bytes each; pages are allocated on first write
//   | ring 1 words   |
//   | ...            |
//   +----------------+
//
// A ring has one writing thread at a time. A thread that ends marks its ring as kLeft, and the
// drainer frees it once it is empty. Measured by session_bench.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "tracesmith/base/linux/clock_source.hpp"
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
  uint32_t life = 0;     // incremented for each new owner
  bool foreign = false;  // of another pid namespace, where the drainer cannot look up `pid`
  char thread_name[16] = {};
  std::atomic<uint64_t> counters{0};    // how many of the emitted records were counters
  std::atomic<uint64_t> blocked_ns{0};  // time that threads waited for space
  uint32_t busy = 0;  // a record is being written: a signal handler must not start another
};

struct SessionHeader {
  uint64_t bytes = 0;
  uint64_t ring_bytes = 0;
  uint32_t ring_count = 0;
  uint32_t drainer_pid = 0;
  uint64_t pid_namespace = 0;  // the drainer's
  OverflowPolicy policy{};
  bool use_counter = false;  // stamps are time stamp counter values, else CLOCK_MONOTONIC ns
  alignas(64) std::atomic<uint32_t> wake{0};  // futex that wakes the drainer
  std::atomic<uint32_t> open{0};              // 0: ended, no records are accepted
  std::atomic<int64_t> drainer_alive_ns{0};
  alignas(64) std::atomic<uint32_t> rings_used{0};  // rings from this index on were never claimed
  std::atomic<uint32_t> names_end{8};               // bytes; the first name's id is 1
  std::atomic<uint64_t> dropped_without_ring{0};
  std::atomic<uint64_t> dropped_reentrant{0};
  std::atomic<uint64_t> dropped_too_large{0};
};

constexpr uint32_t kNameBytes = 16u << 20;
constexpr uint32_t kNoRoomName = 1;  // id of the first name
constexpr uint64_t kMinRingBytes = 4u << 10;
constexpr uint64_t kMaxRingBytes = 256u << 20;

class SessionMemory {
 public:
  /// Reserves space for `rings` concurrent threads with `ring_bytes` each, rounded up to a power of
  /// two. Only address space is reserved; memory is allocated on first use. Error: the system
  /// refuses the size.
  static Result<std::unique_ptr<SessionMemory>> create(uint32_t rings, uint64_t ring_bytes,
                                                       OverflowPolicy policy);
  ~SessionMemory();
  SessionMemory(const SessionMemory&) = delete;
  SessionMemory& operator=(const SessionMemory&) = delete;

  SessionHeader& header() const { return *static_cast<SessionHeader*>(base_); }
  SessionRing& ring(uint32_t i) const { return rings_[i]; }
  uint64_t* words(uint32_t i) const { return words_ + i * (header().ring_bytes / 8); }

  /// Adds a name and returns its id; when there is no space, the id of a name that says so. Equal
  /// names get different ids: the caller should reuse ids, and the drainer merges equal names. [any
  /// thread]
  uint32_t addName(std::string_view name) const;
  /// "" for an invalid id.
  std::string_view name(uint32_t id) const;
  /// Whether addName() may have returned this id.
  static constexpr bool canBeName(uint32_t id) { return id != 0 && id < kNameBytes / 8; }

  /// Claims a ring for the calling thread; -1: all are taken.
  int claimRing() const;
  /// Releases the ring: the calling thread will not write to it again.
  void leaveRing(uint32_t i) const;

  void wakeDrainer() const;
  /// Returns when woken, or after `timeout_ns`.
  void waitForWake(int64_t timeout_ns) const;

 private:
  SessionMemory() = default;
  void* base_ = nullptr;
  SessionRing* rings_ = nullptr;
  uint64_t* words_ = nullptr;
};

/// The place where one thread writes. Used by that thread only.
struct Writer {
  SessionMemory* memory = nullptr;
  SessionRing* ring = nullptr;
  uint64_t* words = nullptr;
  uint64_t capacity = 0;
  OverflowPolicy policy{};
  bool use_counter = false;
  mutable uint32_t open_spans = 0;

  int64_t stamp() const { return stampNow(use_counter); }

  /// Writes a record of `kWords` words: the header, and after it the words that fill(words after
  /// the header) stores. False: the record was dropped and counted. [hot]
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

  /// The same for a record of variable length: `record` is complete, header included.
  bool writeRecord(const uint64_t* record, uint64_t record_words) const;
  /// Makes room for a record: reads the drainer's position, wakes the drainer when the ring is half
  /// full, and waits with OverflowPolicy::Block.
  bool makeRoom(uint64_t head, uint64_t need) const;
  bool reentrant() const;
  /// For DropOldest, which does not call makeRoom().
  void wakeWhenHalfFull() const {
    ring::Control<>& c = ring->control;
    const uint64_t head = c.head.load(std::memory_order_relaxed);
    if (head - c.cached_tail <= capacity / 2) return;
    c.cached_tail = c.tail.load(std::memory_order_acquire);
    if (head - c.cached_tail > capacity / 2) memory->wakeDrainer();
  }
};

}  // namespace tracesmith::session
