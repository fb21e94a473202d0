// SPDX-License-Identifier: Apache-2.0
// When host calls started (and ended), by correlation id, in 8 (12) bytes for most calls: what
// LaunchIndex finds in a trace in memory, for traces that are too large for that.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

class LaunchTimes {
 public:
  static constexpr int64_t kNone = INT64_MIN;
  struct Call {
    int64_t start_ns = kNone;  ///< kNone: there is none
    int64_t end_ns = kNone;    ///< kNone: ends are not kept
  };

  /// The calls of one block, by process and id.
  class Block;
  static Block blockOf(const HostCallTable& calls, bool keeps_ends);
  void add(Block&& block);
  /// Call it after the last add().
  void finish();
  /// Makes find() look there for calls that are not here; null: nowhere. `earlier` outlives this.
  void continueFrom(const LaunchTimes* earlier) { earlier_ = earlier; }

  /// The call with this id. Sets `is_repeated` if several calls have the id: then time and stream
  /// decide (LaunchIndex), and the result does not count.
  Call find(ProcessId process, uint64_t correlation_id, bool& is_repeated) const;

  uint64_t calls() const { return calls_; }

 private:
  struct WideCall {
    uint64_t id = 0;
    int64_t start = 0, end = 0;
    auto operator<=>(const WideCall&) const = default;
  };
  /// Calls of one process in one block, by id. The vectors are relative to the first id, to the
  /// earliest start and to the call's start, unless a value does not fit: then `wide` has all.
  struct Chunk {
    uint64_t first_id = 0, last_id = 0;
    int64_t first_start = 0;
    std::vector<uint32_t> ids, starts, lengths;
    std::vector<WideCall> wide;

    Call find(uint64_t id, bool& is_repeated) const;
  };
  struct OfProcess {
    std::vector<Chunk> chunks;          // by first id
    std::vector<uint64_t> last_so_far;  // the largest id of the chunks up to each one
  };
  static Chunk chunkOf(std::vector<WideCall>& calls, bool keeps_ends);

  Call findHere(ProcessId process, uint64_t correlation_id, bool& is_repeated) const;

  std::map<ProcessId, OfProcess> processes_;
  uint64_t calls_ = 0;
  const LaunchTimes* earlier_ = nullptr;

 public:
  class Block {
    friend class LaunchTimes;
    std::map<ProcessId, Chunk> chunks;
    uint64_t calls = 0;
  };
};

}  // namespace tracesmith
