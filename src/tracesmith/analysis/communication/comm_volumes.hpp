// SPDX-License-Identifier: Apache-2.0
// How much was communicated, how often and how fast: by function, communicator and size, and by
// communicator.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tracesmith/analysis/communication/comm_operations.hpp"
#include "tracesmith/analysis/timing/distribution.hpp"

namespace tracesmith {

/// Operations of one function in one communicator whose S is at least `from_bytes` and less than
/// twice that.
struct CommVolume {
  StringId function{};
  uint32_t communicator = CommOperation::kNone;
  CollectiveOp op{};
  uint64_t from_bytes = 0;  ///< a power of two; 0: operations of no or unknown size
  uint64_t calls = 0;
  uint64_t timed = 0;  ///< of which their own time is known
  uint64_t bytes = 0;  ///< sum of S
  Distribution time_ns;
  double algbw = 0;                  ///< sum of S ÷ sum of t, in bytes per second; 0: unknown
  std::optional<double> busbw;       ///< algbw * busFactor()
  std::optional<double> best_busbw;  ///< of the single operation with the highest one
};
/// By function, communicator and size.
std::vector<CommVolume> commVolumes(const std::vector<CommOperation>& operations,
                                    const JobCommunicators& communicators);

/// What the ranks of a communicator that are in the trace did in it.
struct CommTotals {
  uint32_t communicator = CommOperation::kNone;
  uint64_t collectives = 0;
  uint64_t collective_sent_bytes = 0, collective_received_bytes = 0;
  uint64_t sends = 0, receives = 0;  ///< an exchange is one of each
  uint64_t sent_bytes = 0, received_bytes = 0;
};
/// By communicator; that of rows without one last.
std::vector<CommTotals> commTotals(const Trace& trace,
                                   const std::vector<CommOperation>& operations);

}  // namespace tracesmith
