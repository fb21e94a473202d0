// SPDX-License-Identifier: Apache-2.0
// How far times of two ranks compare.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// The largest value if it is larger than that.
inline uint64_t sumOfErrors(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/// Of a trace that is not merged, all times are of one clock.
class CommClocks {
 public:
  explicit CommClocks(const Trace& trace);

  /// False for a merged trace whose ranks have clocks that were not compared.
  bool areComparable() const { return are_comparable_; }
  /// Two times of these ranks are in the order of their events if they are further apart than this;
  /// 0 if they are of one clock. Needs areComparable().
  uint64_t apart(RankId a, RankId b) const;
  /// Of a rank's devices: their times are within ± this of the rank's clock. kNone: of a trace that
  /// is not merged.
  uint64_t deviceError(RankId rank) const;

 private:
  bool are_comparable_ = true;
  std::vector<uint32_t> clock_of_;   // by rank
  std::vector<uint64_t> errors_ns_;  // by rank
  std::map<RankId, uint64_t> device_errors_ns_;
};

}  // namespace tracesmith
