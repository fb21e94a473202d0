// SPDX-License-Identifier: Apache-2.0
// Writes packets and sequences of a Perfetto file. Each track has its own sequence. Time stamps on
// a sequence are differences to its previous packet (an incremental clock, one to three bytes), and
// names are interned once per sequence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tracesmith/base/hash.hpp"
#include "tracesmith/export/perfetto/perfetto_fields.hpp"
#include "tracesmith/export/perfetto/proto_wire.hpp"
#include "tracesmith/model/ids.hpp"

namespace tracesmith::perfetto {

/// A set of small numbers: a bitmap for the smallest ones and a hash set for the rest. This bounds
/// memory for files with very many sequences and names.
class SeenIds {
 public:
  /// Returns true if `id` is new.
  bool insert(uint32_t id) {
    if (id >= kBits) return rest_.insert(id).second;
    const size_t word = id / 64;
    if (word >= bits_.size()) bits_.resize(word + 1);
    const uint64_t bit = uint64_t{1} << (id % 64);
    if (bits_[word] & bit) return false;
    bits_[word] |= bit;
    return true;
  }

 private:
  static constexpr uint32_t kBits = 16384;
  std::vector<uint64_t> bits_;
  std::unordered_set<uint32_t> rest_;
};

/// Assigns numbers to strings, from 1, in order of first use.
class NameNumbers {
 public:
  explicit NameNumbers(size_t strings) : numbers_(strings + 1) {}
  uint32_t of(StringId id) {
    const auto i = static_cast<size_t>(id) < numbers_.size() ? static_cast<size_t>(id) : 0;
    if (numbers_[i] == 0) numbers_[i] = ++last_;
    return numbers_[i];
  }

 private:
  std::vector<uint32_t> numbers_;
  uint32_t last_ = 0;
};

/// Interned call stack data that a sequence already has (perfetto_stacks.hpp).
struct SeenStacks {
  SeenIds callstacks, frames, functions, files, modules;
};

struct Sequence {
  uint32_t id = 0;    ///< 0: not opened yet
  uint64_t last = 0;  ///< time of its last packet
  SeenIds names;
  SeenIds categories;
  std::unique_ptr<SeenStacks> stacks;  ///< set at its first event with a call stack
};

enum class TrackKind : uint64_t {
  kProcess = 1,
  kThread = 2,
  kStreamRanges = 3,
  kCounter = 4,
  kMemory = 5,
  kFlow = 6,
  kDevice = 7,
  kStream = 8,
  kSubmission = 9,   ///< flow from a host call to its work
  kWait = 10,        ///< flow from work to work
  kWaited = 11,      ///< flow from work to a host call that waited for it
  kThreadOnly = 12,  ///< a thread without slices
};

class PacketWriter {
 public:
  /// Times are written as ns - base_ns, in the clock `clock`. `seed` makes the track ids differ
  /// from those of other traces.
  PacketWriter(Output& out, int64_t base_ns, uint64_t clock, uint64_t seed)
      : out_(out), base_(static_cast<uint64_t>(base_ns)), clock_(clock), seed_(seed) {}

  uint64_t time(int64_t ns) const { return static_cast<uint64_t>(ns) - base_; }

  /// An id for a track (or flow) that is unlikely to occur in other traces.
  uint64_t uuid(TrackKind kind, uint64_t a, uint64_t b = 0) const {
    const uint64_t key[] = {static_cast<uint64_t>(kind), a, b};
    return hash64({reinterpret_cast<const uint8_t*>(key), sizeof key}, seed_) | 1;
  }

  /// Writes one packet. `fields(Cursor&)` writes its fields, at most `bound` bytes.
  template <class Fields>
  void packet(size_t bound, Fields&& fields) {
    proto::Cursor c(out_.reserve(bound + 16));
    c.message<trace::kPacket>([&] { fields(c); });
    out_.commit(c.at());
    ++packets_;
  }

  /// Writes a packet of `q` at `ns`, which must not be before the sequence's last packet.
  template <class Fields>
  void timed(Sequence& q, int64_t ns, size_t bound, Fields&& fields) {
    packet(bound + 32, [&](proto::Cursor& c) {
      c.uint<packet::kTimestamp>(advance(q, ns));
      c.uint<packet::kSequenceId>(q.id);
      c.uint<packet::kSequenceFlags>(packet::kNeedsIncrementalState);
      fields(c);
    });
  }

  /// Opens `q`. Its clock starts at `ns`, and its track events are on `track_uuid` (0: no track).
  /// `rest(Cursor&)` may add interned data, at most `bound` bytes.
  template <class Rest>
  void open(Sequence& q, int64_t ns, uint64_t track_uuid, size_t bound, Rest&& rest) {
    q.id = ++sequences_;
    q.last = time(ns);
    packet(bound + 256, [&](proto::Cursor& c) {
      c.uint<packet::kSequenceId>(q.id);
      c.uint<packet::kSequenceFlags>(packet::kIncrementalStateCleared |
                                     packet::kNeedsIncrementalState);
      c.uint<packet::kFirstOnSequence>(1);
      rest(c);
      c.message<packet::kDefaults>([&] {
        c.uint<defaults::kTimestampClockId>(clock::kDelta);
        if (track_uuid == 0) return;
        c.message<defaults::kTrackEventDefaults>([&] { c.uint<defaults::kTrackUuid>(track_uuid); });
      });
      c.message<packet::kClockSnapshot>([&] {
        c.message<clock::kClocks>([&] {
          c.uint<clock::kClockId>(clock::kDelta);
          c.uint<clock::kTimestamp>(q.last);
          c.uint<clock::kIncremental>(1);
        });
        c.message<clock::kClocks>([&] {
          c.uint<clock::kClockId>(clock_);
          c.uint<clock::kTimestamp>(q.last);
        });
        c.uint<clock::kPrimaryTraceClock>(clock_);
      });
    });
  }

  /// Writes a packet of `q` without a time (for descriptors).
  template <class Fields>
  void untimed(const Sequence& q, size_t bound, Fields&& fields) {
    packet(bound + 16, [&](proto::Cursor& c) {
      c.uint<packet::kSequenceId>(q.id);
      c.uint<packet::kSequenceFlags>(packet::kNeedsIncrementalState);
      fields(c);
    });
  }

  uint64_t packets() const { return packets_; }
  uint32_t nextSequence() { return ++sequences_; }
  Output& output() { return out_; }

 private:
  uint64_t advance(Sequence& q, int64_t ns) const {
    const uint64_t now = std::max(time(ns), q.last);
    const uint64_t delta = now - q.last;
    q.last = now;
    return delta;
  }

  Output& out_;
  uint64_t base_;
  uint64_t clock_;
  uint64_t seed_;
  uint64_t packets_ = 0;
  uint32_t sequences_ = 0;
};

}  // namespace tracesmith::perfetto
