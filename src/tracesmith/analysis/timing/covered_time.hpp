// SPDX-License-Identifier: Apache-2.0
// How much of a stretch of time a set of intervals covers.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/state/timeline.hpp"

namespace tracesmith {

class CoveredTime {
 public:
  CoveredTime() = default;
  /// In any order; they may overlap.
  explicit CoveredTime(std::vector<Interval> intervals);
  /// Of [begin, end), in logarithmic time; 0 where that is empty.
  int64_t within(int64_t begin_ns, int64_t end_ns) const;

 private:
  int64_t before(int64_t time) const;

  std::vector<Interval> union_;
  std::vector<int64_t> before_;  // total of those before each
};

}  // namespace tracesmith
