// SPDX-License-Identifier: Apache-2.0
// Computes how much of a period a set of intervals covers.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"
#include "tracesmith/state/timeline.hpp"

namespace tracesmith {

class CoveredTime {
 public:
  CoveredTime() = default;
  /// `intervals` may be in any order and may overlap.
  explicit CoveredTime(std::vector<Interval> intervals);
  /// Covered time within [begin, end), in logarithmic time; 0 if the range is empty.
  int64_t within(int64_t begin_ns, int64_t end_ns) const;

  /// The union: sorted, disjoint, not touching.
  const std::vector<Interval>& intervals() const { return union_; }

 private:
  int64_t before(int64_t time) const;

  std::vector<Interval> union_;
  std::vector<int64_t> before_;  // total length of the intervals before each one
};

/// The time in which each device computed. Devices that never did have no entry.
std::map<DeviceId, CoveredTime> computeTimes(const DeviceOps& ops);

}  // namespace tracesmith
