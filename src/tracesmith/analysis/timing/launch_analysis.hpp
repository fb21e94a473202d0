// SPDX-License-Identifier: Apache-2.0
// From host to device: how long launched work takes to start, and how many launches wait in a
// stream.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tracesmith/analysis/timing/compact_durations.hpp"
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
/// Collects what LaunchLatency is about, op by op.
class LaunchDelays {
 public:
  void add(int64_t call_begin_ns, int64_t call_end_ns, int64_t begin_ns, int64_t end_ns);
  void addWithoutLaunch() { ++without_launch_; }
  void add(LaunchDelays&& others);
  /// Has nothing afterwards.
  LaunchLatency finish();

 private:
  CompactDurations call_, work_, delay_, latency_;
  uint64_t without_launch_ = 0, before_launch_ = 0;
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
/// Collects the launches of one stream, in any order.
class QueuedLaunches {
 public:
  void reserve(size_t ops) {
    launches_.reserve(ops);
    begins_.reserve(ops);
  }
  void add(int64_t launch_ns, int64_t begin_ns);
  bool empty() const { return begins_.empty(); }
  /// For the caller: stream, device and process.
  QueueDepth finish();

 private:
  std::vector<int64_t> launches_, begins_;
  uint64_t before_launch_ = 0;
};
std::vector<QueueDepth> queueDepths(const Trace& trace, const DeviceOps& ops,
                                    const AnalysisOptions& options = {});

}  // namespace tracesmith
