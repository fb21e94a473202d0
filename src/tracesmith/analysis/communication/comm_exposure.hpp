// SPDX-License-Identifier: Apache-2.0
// How much of the time of communication was hidden by other work.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/analysis/communication/comm_operations.hpp"

namespace tracesmith {

/// Times of one function in one communicator, on all devices, or in all threads. Operations that
/// overlap on a device (in a thread) count once.
struct CommExposure {
  StringId function{};
  uint32_t communicator = CommOperation::kNone;
  bool on_device = false;
  int64_t time_ns = 0;  ///< union of the operations
  /// On a device: in which no compute ran there. In a thread: that it spent in the calls.
  int64_t exposed_ns = 0;
  int64_t hidden_ns() const { return time_ns - exposed_ns; }
};

struct CommExposures {
  std::vector<CommExposure> rows;  ///< by function and communicator
  uint64_t untimed = 0;  ///< operations that only enqueued something, or whose device is unknown
  /// Operations on devices of which the trace has no compute, so that nothing could hide them.
  uint64_t without_compute = 0;
};
/// `ops` are of the same trace.
CommExposures commExposures(const Trace& trace, const std::vector<CommOperation>& operations,
                            const DeviceOps& ops);

}  // namespace tracesmith
