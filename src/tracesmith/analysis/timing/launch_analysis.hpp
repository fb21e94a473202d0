// SPDX-License-Identifier: Apache-2.0
// From host to device: how long launched work takes to start, and how many launches wait in a
// stream.
#pragma once

#include <optional>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"
#include "tracesmith/analysis/timing/distribution.hpp"

namespace tracesmith {

/// Over all ops whose launch is in the trace; in ns.
struct LaunchLatency {
  Distribution call;   ///< duration of the host call
  Distribution work;   ///< duration of the op
  Distribution delay;  ///< from the end of the call to the start of the op; 0 if they overlap
  /// From the start of the call to the start of the op; 0 if the op starts first.
  Distribution latency;
  uint64_t without_launch = 0;  ///< ops whose launch is not in the trace
  uint64_t before_launch = 0;   ///< ops that start before their launch: the clocks disagree
};
LaunchLatency launchLatency(const Trace& trace, const DeviceOps& ops,
                            const AnalysisOptions& options = {});

/// Number of ops of a stream that were launched but not started, at each launch and start. An op
/// that starts before its launch was never queued.
struct QueueDepth {
  StreamId stream{};
  DeviceId device{};
  ProcessId process{};
  Distribution at_changes;               ///< over the depth after each change
  std::optional<double> mean_over_time;  ///< none: all changes at the same time
  int64_t most = 0;
  uint64_t before_launch = 0;  ///< ops that start before their launch
};
std::vector<QueueDepth> queueDepths(const Trace& trace, const DeviceOps& ops,
                                    const AnalysisOptions& options = {});

}  // namespace tracesmith
