// SPDX-License-Identifier: Apache-2.0
// From the host to the device: how long launches take to begin, and how many wait in a stream.
#pragma once

#include <optional>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"
#include "tracesmith/analysis/timing/distribution.hpp"

namespace tracesmith {

/// Over every op whose launch is in the trace; in ns.
struct LaunchLatency {
  Distribution call;     ///< duration of the host call
  Distribution work;     ///< duration of the op
  Distribution delay;    ///< from the end of the call to the begin of the op; 0 where that overlaps
  Distribution latency;  ///< from the begin of the call to the begin of the op; 0 where that is
                         ///< before it
  uint64_t without_launch = 0;  ///< ops whose launch is not in the trace
  uint64_t before_launch = 0;   ///< that begin before their launch: clocks that do not agree
};
LaunchLatency launchLatency(const Trace& trace, const DeviceOps& ops,
                            const AnalysisOptions& options = {});

/// How many ops of a stream had been launched and had not begun, at each launch and begin. One that
/// begins before its launch was in no queue.
struct QueueDepth {
  StreamId stream{};
  DeviceId device{};
  ProcessId process{};
  Distribution at_changes;               ///< over the values after each change
  std::optional<double> mean_over_time;  ///< none: all changes were at once
  int64_t most = 0;
  uint64_t before_launch = 0;  ///< ops that begin before their launch
};
std::vector<QueueDepth> queueDepths(const Trace& trace, const DeviceOps& ops,
                                    const AnalysisOptions& options = {});

}  // namespace tracesmith
