// SPDX-License-Identifier: Apache-2.0
// The clocks of the ranks of a merged trace, as far as they were compared (`profile --sync-with`).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tracesmith/clocks/clock_estimate.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

class RankClocks {
 public:
  explicit RankClocks(const Trace& merged);

  /// Whether the clock of every rank is that of the first rank, or leads to it by comparisons.
  bool areCompared() const { return are_compared_; }
  /// Whether all have the same clock: they ran on one host.
  bool areOne() const {
    return are_compared_ &&
           std::all_of(hops_.begin(), hops_.end(), [](const auto& hops) { return hops.empty(); });
  }
  /// A time of a rank in the clock of the first rank. Needs areCompared().
  clocks::Bounded toFirst(size_t rank_index, int64_t time) const;

 private:
  /// From a clock to one that is nearer to the first rank's.
  struct Hop {
    size_t estimate = 0;   // index
    bool forward = false;  // the farther clock has measured the nearer one, not the other way round
  };

  std::vector<clocks::ClockEstimate> estimates_;
  std::vector<std::vector<Hop>> hops_;  // by rank, the farthest first
  bool are_compared_ = false;
};

}  // namespace tracesmith
