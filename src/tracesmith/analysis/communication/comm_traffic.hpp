// SPDX-License-Identifier: Apache-2.0
// Who sent how much to whom.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/analysis/communication/comm_operations.hpp"

namespace tracesmith {

/// What one rank sent to another. Both are indices in JobCommunicators::ranks().
struct PairTraffic {
  uint32_t from = 0;
  uint32_t to = 0;
  uint64_t messages = 0;
  uint64_t message_bytes = 0;
  uint64_t collective_bytes = 0;

  uint64_t bytes() const { return message_bytes + collective_bytes; }
};

struct CommTraffic {
  std::vector<PairTraffic> pairs;     ///< by `from`, then `to`; those with nothing are left out
  uint64_t of_unknown_senders = 0;    ///< receives that do not say from whom
  uint64_t left_out_collectives = 0;  ///< who sends what to whom depends on the algorithm
  /// Calls of all_to_all in communicators so large that their pairs are not listed.
  uint64_t too_many_pairs = 0;
};

/// - Messages are counted by the rows of their sender; by those of their receiver if the trace
/// lacks
///   the sender.
/// - Of collectives only what their definition says: all_to_all sends an equal part to each other
///   rank, gather to the root, and scatter comes from the root.
/// Adds ranks that are not in the trace to `communicators`.
CommTraffic commTraffic(const Trace& trace, const std::vector<CommOperation>& operations,
                        JobCommunicators& communicators);

}  // namespace tracesmith
