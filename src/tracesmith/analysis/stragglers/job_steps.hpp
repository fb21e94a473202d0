// SPDX-License-Identifier: Apache-2.0
// The steps of a job, by what its ranks communicate: the sequence of a rank's operations repeats.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/analysis/stragglers/job_timeline.hpp"

namespace tracesmith {

struct JobSteps {
  uint32_t count = 0;  ///< 0: nothing repeats
  std::vector<uint32_t>
      step_of;  ///< by part; kNoPart: before the first whole step, or after the last
  std::vector<uint32_t> place_of;  ///< by part: its number within the step
  std::vector<uint32_t> places;    ///< by rank: operations of a step
  /// By rank. Ranks of one role communicate the same in each step, so their work compares: the
  /// first stage of a pipeline has another role than the second.
  std::vector<uint32_t> role_of;
  uint32_t roles = 0;
};

JobSteps jobSteps(const JobTimeline& timeline);

/// The smallest number of items after which a sequence repeats, as far as 97 of 100 items tell; 0:
/// it does not, or fewer than three times.
size_t periodOf(const std::vector<uint64_t>& items);

}  // namespace tracesmith
