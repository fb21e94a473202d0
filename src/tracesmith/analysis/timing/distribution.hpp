// SPDX-License-Identifier: Apache-2.0
// Summary statistics of a set of values.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/analysis/timing/compact_durations.hpp"

namespace tracesmith {

/// All 0 if there are no values. Quantiles are interpolated linearly between the two values around
/// position p * (n - 1) of the sorted values (the default of numpy and R). `deviation` is the
/// sample standard deviation, with n - 1 (0 for a single value).
struct Distribution {
  uint64_t count = 0;
  double sum = 0, mean = 0, deviation = 0;
  double min = 0, p25 = 0, p50 = 0, p75 = 0, p95 = 0, p99 = 0, max = 0;
};
/// Reorders `values`.
Distribution distributionOf(std::vector<double>& values);
inline Distribution distributionOf(std::vector<double>&& values) { return distributionOf(values); }
Distribution distributionOf(const CompactDurations& durations);
/// The same of the values 0, 1, 2, ..., of which value i occurs counts[i] times.
Distribution distributionOfCounts(const std::vector<uint64_t>& counts);

}  // namespace tracesmith
