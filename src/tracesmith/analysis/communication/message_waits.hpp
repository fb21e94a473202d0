// SPDX-License-Identifier: Apache-2.0
// Messages with both ends in the trace: which side waited for the other.
//
// The nth send from one rank to another in a communicator with a tag belongs to the nth receive
// from there with that tag, in the order in which the receives were posted: messages do not
// overtake each other (MPI 4.0, 3.5; NCCL's have no tags).
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/analysis/communication/comm_mismatches.hpp"
#include "tracesmith/analysis/communication/comm_operations.hpp"

namespace tracesmith {

/// Messages from one rank to another; both are indices in JobCommunicators::ranks().
struct MessageWaits {
  uint32_t from = 0;
  uint32_t to = 0;
  uint64_t messages = 0;      ///< with both ends
  uint64_t bytes = 0;         ///< of these
  uint64_t not_resolved = 0;  ///< of these: the clocks do not tell which side came first
  uint64_t late_sends = 0;    ///< the receiver waited in its call until the sender came
  int64_t waited_for_sender_ns = 0;
  uint64_t late_receives = 0;  ///< the sender waited in its call until the receiver came
  int64_t waited_for_receiver_ns = 0;
};

struct Messages {
  std::vector<MessageWaits> pairs;  ///< by `from`, then `to`
  std::vector<CommMismatch> mismatches;
};

/// Waits are limited to the time that the waiting call, or the completion of a request, took. A
/// send that returned before the receiver came was buffered, and did not wait. MPI_Sendrecv does
/// not say whom it receives from: what it may have received does not count as unmatched. Adds ranks
/// that are not in the trace to `communicators`.
Messages matchMessages(const Trace& trace, const std::vector<CommOperation>& operations,
                       JobCommunicators& communicators);

}  // namespace tracesmith
