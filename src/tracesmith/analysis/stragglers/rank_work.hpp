// SPDX-License-Identifier: Apache-2.0
// What each rank did on its own in each step, and how it compares with the ranks of its role.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tracesmith/analysis/stragglers/job_steps.hpp"
#include "tracesmith/analysis/stragglers/job_timeline.hpp"

namespace tracesmith {

struct StepWork {
  int64_t own_ns = 0;
  int64_t busy_ns = 0;  ///< of these the device worked
};

struct RankWork {
  std::vector<StepWork> steps;
  std::vector<StepWork> typical;  ///< the lower median of the ranks of its role, by step
  size_t peers = 0;               ///< ranks of its role, itself among them
  bool has_device = false;
  // Kernels of one name and launch shape in this rank beside the others:
  double slowness = 1;            ///< weighted median of the ratios of their median durations
  uint64_t compared_kernels = 0;  ///< launches of kernels that other ranks have as well
  double amount = 1;              ///< work-items (threads) launched, beside the typical rank

  /// How much longer than typical, as a share of the typical; 0 if nothing is typical.
  double excessOf(size_t step) const;
};

std::vector<RankWork> rankWork(const Trace& trace, const JobTimeline& timeline,
                               const JobSteps& steps, const JobCommunicators& communicators,
                               const DeviceOps& ops);

/// The recorded own times with those of `rank` as in a typical rank of its role: at no place of a
/// step longer than there.
std::vector<int64_t> ownTimesIfTypical(const JobTimeline& timeline, const JobSteps& steps,
                                       uint32_t rank);

/// The value below which half of the values are, the lower of two.
template <class T>
T lowerMedian(std::vector<T> values) {
  if (values.empty()) return T{};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace tracesmith
