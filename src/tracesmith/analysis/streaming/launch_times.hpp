// SPDX-License-Identifier: Apache-2.0
// When host calls started, by correlation id, in 8 bytes for most calls: what LaunchIndex finds in
// a trace in memory, for traces that are too large for that.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

class LaunchTimes {
 public:
  static constexpr int64_t kNone = INT64_MIN;

  /// The calls of one block, by process and id.
  class Block;
  static Block blockOf(const HostCallTable& calls);
  void add(Block&& block);
  /// Call it after the last add().
  void finish();

  /// The start of the call with this id; kNone: there is none. Sets `is_repeated` if several calls
  /// have the id: then time and stream decide (LaunchIndex), and the result does not count.
  int64_t find(ProcessId process, uint64_t correlation_id, bool& is_repeated) const;

  uint64_t calls() const { return calls_; }

 private:
  /// Calls of one process in one block, by id. Both vectors `ids` and `starts` are relative to the
  /// first id and the earliest start, unless one does not fit: then `wide` has all.
  struct Chunk {
    uint64_t first_id = 0, last_id = 0;
    int64_t first_start = 0;
    std::vector<uint32_t> ids, starts;
    std::vector<std::pair<uint64_t, int64_t>> wide;

    int64_t find(uint64_t id, bool& is_repeated) const;
  };
  struct OfProcess {
    std::vector<Chunk> chunks;          // by first id
    std::vector<uint64_t> last_so_far;  // the largest id of the chunks up to each one
  };
  static Chunk chunkOf(std::vector<std::pair<uint64_t, int64_t>>& calls);

  std::map<ProcessId, OfProcess> processes_;
  uint64_t calls_ = 0;

 public:
  class Block {
    friend class LaunchTimes;
    std::map<ProcessId, Chunk> chunks;
    uint64_t calls = 0;
  };
};

}  // namespace tracesmith
