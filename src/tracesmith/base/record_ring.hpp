// SPDX-License-Identifier: Apache-2.0
// RecordRing carries records of any length from one writer to one reader: from a thread of the
// program to the code that drains the ring. Agents (through arenas), TracingSession and RingBuffer
// all use it.
//
// Positions are in bytes and only grow; position & (capacity - 1) is the offset in the ring. A
// record consists of whole 8-byte words and never wraps: a pad fills the end of the ring. The first
// word of a record has its length:
//
//   63            32 31        16 15     8 7      0
//   +---------------+------------+--------+--------+
//   |     user      |   words    |  user  |  kind  |   kind 0 is a pad: its words are in 63..32
//   +---------------+------------+--------+--------+
//
//        tail (reader)                    head (writer)
//          v                                v
//   ...free | record | record | pad | record | free...      head - tail <= capacity
//
// Only the writer stores head and only the reader stores tail, both with release. Each side reads
// the other's position with acquire, and only when its cached copy does not show enough room
// (writer) or any record (reader).
//
// With DropOldest the writer may remove records that the reader is reading: both sides then move
// tail by compare-and-exchange. The reader copies records first and removes them afterwards. If the
// exchange fails, its copy may be torn and is discarded. So each record is moved past tail exactly
// once, and the side that moved it counts it.
//
// record_ring_model_test.cpp proves this: it runs every interleaving of small programs under a
// model of the C++ memory order in which loads may return old values. ring_bench.cpp measures the
// speed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tracesmith::ring {

constexpr uint64_t kWordBytes = 8;
constexpr uint64_t kMaxRecordWords = 0xffff;

constexpr uint64_t padWord(uint64_t bytes) { return bytes / kWordBytes << 32; }
constexpr bool isPad(uint64_t first_word) { return (first_word & 0xff) == 0; }
constexpr uint64_t recordBytes(uint64_t first_word) {
  return kWordBytes * (isPad(first_word) ? first_word >> 32 : first_word >> 16 & 0xffff);
}
/// First word of a record of `words` words, including this one. `kind` must not be 0.
constexpr uint64_t headerWord(uint8_t kind, uint64_t words, uint32_t aux = 0) {
  return kind | words << 16 | uint64_t{aux} << 32;
}

/// Finds room for a record. On success `at` is the byte offset of `bytes` contiguous bytes; returns
/// false if there is no room. Control has atomics `head` and `tail` and the writer's `cached_tail`.
/// If cached_tail shows too little room, make_room(head, bytes_needed) updates it and returns
/// whether there is room now. pad(offset, bytes) writes a pad. [hot]
template <class Control, class MakeRoom, class Pad>
inline bool claim(Control& control, uint64_t capacity, uint64_t bytes, MakeRoom&& make_room,
                  Pad&& pad, uint64_t& at) {
  uint64_t head = control.head.load(std::memory_order_relaxed);
  const uint64_t to_end = capacity - (head & (capacity - 1));
  const uint64_t need = bytes <= to_end ? bytes : to_end + bytes;
  if (__builtin_expect(head + need - control.cached_tail > capacity, 0)) {
    if (!make_room(head, need)) return false;
  }
  if (__builtin_expect(bytes > to_end, 0)) {
    pad(head & (capacity - 1), to_end);
    head += to_end;
    control.head.store(head, std::memory_order_release);
  }
  at = head & (capacity - 1);
  return true;
}

/// Publishes the record for which claim() found room. [hot]
template <class Control>
inline void publish(Control& control, uint64_t bytes) {
  control.head.store(control.head.load(std::memory_order_relaxed) + bytes,
                     std::memory_order_release);
}

/// Memory access on a real machine; the model test substitutes its own.
struct StdMemory {
  using Atomic = std::atomic<uint64_t>;
  using Word = uint64_t;
  static uint64_t loadPlain(const Word& word) { return word; }
  static void storePlain(Word& word, uint64_t value) { word = value; }
  static uint64_t loadAcquire(const Word& word) {
    return std::atomic_ref(const_cast<Word&>(word)).load(std::memory_order_acquire);
  }
  static void storeRelease(Word& word, uint64_t value) {
    std::atomic_ref(word).store(value, std::memory_order_release);
  }
};

/// State shared by the two sides. It may lie in any memory that both can access, including shared
/// memory. All zeros is an empty ring.
template <class Memory = StdMemory>
struct Control {
  // The writer's cache line. Only the writer changes the counters; others may read them any time.
  alignas(64) typename Memory::Atomic head{0};
  uint64_t cached_tail = 0;
  std::atomic<uint64_t> emitted{0};  ///< records the writer tried to write
  std::atomic<uint64_t> dropped{0};  ///< of those, records the reader will never receive
  // The reader's cache line.
  alignas(64) typename Memory::Atomic tail{0};
  uint64_t cached_head = 0;
  std::atomic<uint64_t> delivered{0};  ///< records passed to the reader
};

/// Adds to a counter that only one thread writes.
inline void bump(std::atomic<uint64_t>& counter, uint64_t by = 1) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

/// A view: it owns neither the control nor the words, which must outlive it. Once the reader has
/// drained everything, emitted = delivered + dropped.
template <class Memory = StdMemory>
class RecordRing {
 public:
  using Word = typename Memory::Word;

  /// `capacity` is in bytes and a power of two. A record may take at most half of it.
  RecordRing(Control<Memory>& control, Word* words, uint64_t capacity)
      : control_(&control), words_(words), capacity_(capacity) {}

  uint64_t capacity() const { return capacity_; }
  Control<Memory>& control() const { return *control_; }

  // --- The writer -----------------------------------------------------------------------------

  /// Returns room for a record of `bytes`, to be filled in place and then committed, or nullptr if
  /// there is no room now. Then either count the loss with drop(), or retry later. For make_room
  /// see claim().
  template <class MakeRoom>
  Word* reserve(uint64_t bytes, MakeRoom&& make_room) {
    uint64_t at = 0;
    auto pad = [&](uint64_t place, uint64_t length) {
      Memory::storePlain(words_[place / kWordBytes], padWord(length));
    };
    if (!claim(*control_, capacity_, bytes, make_room, pad, at)) return nullptr;
    return words_ + at / kWordBytes;
  }
  Word* reserve(uint64_t bytes) {
    return reserve(bytes, [&](uint64_t head, uint64_t need) { return seeTail(head, need); });
  }
  void commit(uint64_t bytes) {
    bump(control_->emitted);
    publish(*control_, bytes);
  }
  void drop() {
    bump(control_->emitted);
    bump(control_->dropped);
  }
  /// Reads how far the reader has come. True if `need` bytes fit after `head` now.
  bool seeTail(uint64_t head, uint64_t need) {
    control_->cached_tail = control_->tail.load(std::memory_order_acquire);
    return head + need - control_->cached_tail <= capacity_;
  }

  /// DropOldest: always accepts the record, and removes as many of the oldest records as that
  /// takes. The reader of such a ring must use drainCopies().
  void pushOverOldest(const uint64_t* record, uint64_t bytes) {
    uint64_t head = control_->head.load(std::memory_order_relaxed);
    const uint64_t to_end = capacity_ - (head & (capacity_ - 1));
    const uint64_t need = bytes <= to_end ? bytes : to_end + bytes;
    if (head + need - control_->cached_tail > capacity_) evictUntil(head + need - capacity_);
    // Stored with release: a thread that reads a word of this record also sees that the record
    // previously stored here has been removed.
    if (bytes > to_end) {
      Memory::storeRelease(words_[(head & (capacity_ - 1)) / kWordBytes], padWord(to_end));
      head += to_end;
    }
    Word* out = words_ + (head & (capacity_ - 1)) / kWordBytes;
    for (uint64_t i = 0; i < bytes / kWordBytes; ++i) Memory::storeRelease(out[i], record[i]);
    bump(control_->emitted);
    control_->head.store(head + bytes, std::memory_order_release);
  }

  // --- The reader -----------------------------------------------------------------------------

  /// Passes the available records to sink(const Word* record, uint64_t bytes), in place, and then
  /// frees their room. `limit`: about how many bytes to drain at most. Returns the number of
  /// records.
  template <class Sink>
  uint64_t drain(Sink&& sink, uint64_t limit = UINT64_MAX) {
    uint64_t tail = control_->tail.load(std::memory_order_relaxed);
    if (control_->cached_head - tail < limit) {
      control_->cached_head = control_->head.load(std::memory_order_acquire);
    }
    const uint64_t head = control_->cached_head;
    const uint64_t begin = tail;
    uint64_t records = 0;
    while (tail != head && tail - begin < limit) {
      const Word* record = words_ + (tail & (capacity_ - 1)) / kWordBytes;
      const uint64_t first = Memory::loadPlain(*record);
      const uint64_t bytes = recordBytes(first);
      if (!isPad(first)) {
        sink(record, bytes);
        ++records;
      }
      tail += bytes;
    }
    if (tail != begin) control_->tail.store(tail, std::memory_order_release);
    bump(control_->delivered, records);
    return records;
  }

  /// drain() for a ring whose writer uses pushOverOldest(): copies records to `scratch` (of the
  /// ring's capacity), removes them from the ring, and only then passes them to the sink.
  template <class Sink>
  uint64_t drainCopies(uint64_t* scratch, Sink&& sink, uint64_t limit = UINT64_MAX) {
    uint64_t tail = control_->tail.load(std::memory_order_acquire);
    const uint64_t end =
        std::min(limit, control_->head.load(std::memory_order_acquire) - tail) + tail;
    uint64_t records = 0;
    while (tail < end) {
      const uint64_t copied = copyRecords(tail, end, scratch);
      const uint64_t begin = tail;
      uint64_t lost = 0;  // words of scratch that the writer has removed meanwhile
      while (lost * kWordBytes < copied) {
        if (control_->tail.compare_exchange_strong(tail, begin + copied, std::memory_order_acq_rel,
                                                   std::memory_order_acquire)) {
          tail = begin + copied;
          records += show(scratch + lost, copied / kWordBytes - lost, sink);
          break;
        }
        // The writer has moved tail to the start of a record. If one of the copies starts there
        // too, that copy and the following ones are intact: nothing has been written there yet.
        while (lost * kWordBytes < copied && begin + lost * kWordBytes < tail) {
          lost += recordBytes(scratch[lost]) / kWordBytes;
        }
        if (begin + lost * kWordBytes != tail) break;
      }
      if (copied == 0) tail = control_->tail.load(std::memory_order_acquire);
    }
    bump(control_->delivered, records);
    return records;
  }

 private:
  void evictUntil(uint64_t wanted) {
    uint64_t tail = control_->tail.load(std::memory_order_acquire);
    // The ring's owner may have set cached_tail back.
    while (static_cast<int64_t>(wanted - tail) > 0) {
      const uint64_t first = Memory::loadAcquire(words_[(tail & (capacity_ - 1)) / kWordBytes]);
      const uint64_t next = tail + recordBytes(first);
      if (!control_->tail.compare_exchange_strong(tail, next, std::memory_order_acq_rel,
                                                  std::memory_order_acquire)) {
        continue;  // the reader has removed it
      }
      if (!isPad(first)) bump(control_->dropped);
      tail = next;
    }
    control_->cached_tail = tail;
  }

  /// Copies whole records from `tail` onwards; returns their bytes, or 0 if the first one has
  /// already been overwritten. Any copied part may be torn: only lengths are examined, and a length
  /// that leads out of bounds is rejected.
  uint64_t copyRecords(uint64_t tail, uint64_t end, uint64_t* scratch) {
    uint64_t at = tail;
    while (at < end) {
      const Word* record = words_ + (at & (capacity_ - 1)) / kWordBytes;
      const uint64_t first = Memory::loadAcquire(*record);
      const uint64_t bytes = recordBytes(first);
      const uint64_t used = (at - tail) / kWordBytes;
      const uint64_t to_end = capacity_ - (at & (capacity_ - 1));
      if (bytes == 0 || bytes > to_end || bytes > tail + capacity_ - at) break;
      scratch[used] = first;
      const uint64_t payload = isPad(first) ? 1 : bytes / kWordBytes;
      for (uint64_t i = 1; i < payload; ++i) scratch[used + i] = Memory::loadAcquire(record[i]);
      at += bytes;
    }
    return at - tail;
  }

  template <class Sink>
  static uint64_t show(const uint64_t* words, uint64_t count, Sink&& sink) {
    uint64_t records = 0;
    for (uint64_t i = 0; i < count; i += recordBytes(words[i]) / kWordBytes) {
      if (isPad(words[i])) continue;
      sink(words + i, recordBytes(words[i]));
      ++records;
    }
    return records;
  }

  Control<Memory>* control_;
  Word* words_;
  uint64_t capacity_;
};

}  // namespace tracesmith::ring
