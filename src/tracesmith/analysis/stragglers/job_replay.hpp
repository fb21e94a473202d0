// SPDX-License-Identifier: Apache-2.0
// Runs a job again on paper: each rank's own work as recorded or changed, each transfer as long as
// it took once all had come.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/analysis/stragglers/job_timeline.hpp"

namespace tracesmith {

/// What the length of a job is made of: the own work of one rank after the other, and transfers.
/// The sum of all is the length, exactly.
struct CriticalPiece {
  uint32_t part = 0;  ///< the own work before it, and then its transfer
  int64_t own_ns = 0;
  int64_t transfer_ns = 0;
};

struct JobReplay {
  int64_t length_ns = 0;  ///< from the start of the first own work to the end of the last part
  std::vector<int64_t> arrival_ns, leave_ns;  ///< by part
  /// Nodes that wait for each other in a circle, because ranks recorded them in different orders.
  uint64_t in_circles = 0;
};

/// `own_ns`: by part; `transfer_ns`: by node.
JobReplay replayJob(const JobTimeline& timeline, const std::vector<int64_t>& own_ns,
                    const std::vector<int64_t>& transfer_ns);

/// Of the recorded times.
std::vector<int64_t> ownTimes(const JobTimeline& timeline);
std::vector<int64_t> transferTimes(const JobTimeline& timeline);

/// From the last part of the job back to the start, in the order of time.
std::vector<CriticalPiece> criticalPieces(const JobTimeline& timeline, const JobReplay& replay,
                                          const std::vector<int64_t>& own_ns,
                                          const std::vector<int64_t>& transfer_ns);

}  // namespace tracesmith
