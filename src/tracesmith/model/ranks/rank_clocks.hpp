// SPDX-License-Identifier: Apache-2.0
// The clocks of the ranks of a merged trace, as far as they were compared (`profile --sync-with`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "tracesmith/clocks/clock_estimate.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Adds to `facts` what RankClocks needs of a trace of one rank, as that of the next rank.
void addClockFacts(Trace& facts, const Trace& of_rank);

class RankClocks {
 public:
  /// Needs the ranks, the metadata and the offsets of a trace whose times were not converted yet.
  explicit RankClocks(const Trace& merged);

  /// Whether the clock of every rank is that of the first rank, or leads to it by comparisons.
  bool areCompared() const { return are_compared_; }
  /// Why not; the ranks have these names.
  std::string whyNot(std::span<const std::string> names) const;
  /// Comparisons that contradict the others, as sentences; the ranks have these names. Where clocks
  /// were compared in a loop (a with b, b with c, c with a), the offsets around it add up to 0, as
  /// far as their bounds let them. Where they do not, times can be further off than toFirst() says.
  std::vector<std::string> contradictions(std::span<const std::string> names) const;
  /// Whether the clock of a rank is another one than the first rank's. Needs areCompared().
  bool differs(size_t rank_index) const { return !hops_[rank_index].empty(); }
  /// A time of a rank in the clock of the first rank. Needs areCompared().
  clocks::Bounded toFirst(size_t rank_index, int64_t time) const;
  /// Converts all times of the trace of one rank, which are in host time, and removes what was
  /// compared. Returns by how much a time of an event can be off at most, in ns; without events, a
  /// time of a process. Needs areCompared().
  int64_t convertToFirst(size_t rank_index, Trace& of_rank) const;

 private:
  /// Clocks whose comparisons lead back to the first of them.
  struct Loop {
    std::vector<std::string> clocks;
    int64_t sum = 0;    // of the offsets, at the moment where they are furthest from adding up to 0
    int64_t error = 0;  // by how much the sum can be off
    int64_t beyond() const { return std::abs(sum) - error; }
  };
  class Builder;

  std::vector<clocks::ClockEstimate> estimates_;
  std::vector<std::vector<size_t>> hops_;  // by rank: estimates, the farthest first
  bool are_compared_ = false;
  size_t first_unknown_ = 0;           // the first rank that does not lead to the first one
  std::vector<Loop> contradictions_;   // the worst first
  std::vector<std::string> clock_of_;  // by rank
  std::vector<bool> has_no_name_;      // by rank: the trace does not say which clock it has
};

}  // namespace tracesmith
