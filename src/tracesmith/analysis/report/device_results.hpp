// SPDX-License-Identifier: Apache-2.0
// What a report says of device work, wherever it was computed: from a trace in memory, or block by
// block from a file.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tracesmith/analysis/streaming/work_trace.hpp"
#include "tracesmith/analysis/timing/device_ops.hpp"
#include "tracesmith/analysis/timing/kernel_occupancy.hpp"
#include "tracesmith/analysis/timing/kernel_stats.hpp"
#include "tracesmith/analysis/timing/launch_analysis.hpp"
#include "tracesmith/analysis/timing/peer_copies.hpp"
#include "tracesmith/analysis/timing/step_finder.hpp"
#include "tracesmith/analysis/timing/stream_use.hpp"
#include "tracesmith/analysis/timing/time_breakdown.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/format/trace_scan.hpp"

namespace tracesmith {

class DeviceResults {
 public:
  virtual ~DeviceResults() = default;
  virtual TimeBreakdown all() const = 0;                    ///< breakdownOf()
  virtual std::vector<TimeBreakdown> byDevice() const = 0;  ///< breakdownByDevice()
  virtual std::vector<IdleTime> idle() const = 0;           ///< idleTimes()
  virtual std::vector<StreamUse> streams() const = 0;       ///< streamUses()
  virtual std::vector<NamedStats> kernels() const = 0;      ///< kernelStats()
  virtual std::vector<NamedStats> copies() const = 0;       ///< copyStats()
  virtual std::vector<PeerCopies> peers() const = 0;        ///< peerCopies()
  virtual LaunchLatency launches() const = 0;               ///< launchLatency()
  virtual std::vector<QueueDepth> queues() const = 0;       ///< queueDepths()
  virtual std::vector<ShapeUse> shapes() const = 0;         ///< of all kernels
  virtual StepUses steps() const = 0;                       ///< stepUses()
};

/// What a pass over a file collects beside the times of devices and streams, because it takes
/// memory with each op, call or step.
struct CollectedParts {
  bool names = false;          ///< kernels(), copies(), peers()
  bool launches = false;       ///< launches()
  bool queues = false;         ///< queues()
  bool shapes = false;         ///< shapes()
  std::optional<Steps> steps;  ///< those that the trace names; of them: steps()
};

/// Computes each when it is asked for. The arguments must outlive it.
std::unique_ptr<DeviceResults> resultsInMemory(const Trace& trace, const DeviceOps& ops,
                                               const AnalysisOptions& options);

/// A trace's work in memory, with the results.
struct WorkResults {
  std::unique_ptr<WorkTrace> work;
  std::unique_ptr<DeviceResults> results;
};

/// Results whose rows are not in WorkTrace are computed while it is read, those that `parts` asks
/// for; steps(), named or not, if `has_steps`. Several threads may ask for results. `scan` must
/// outlive them. nullptr: the trace must be read as a whole (readWorkTrace()).
Result<std::unique_ptr<WorkResults>> readWorkResults(TraceScan& scan,
                                                     const AnalysisOptions& options,
                                                     const CollectedParts& parts, bool has_steps);

/// Computes all in one pass; `scan` must outlive it. Parts that are not collected are empty.
/// nullptr: the trace must be read as a whole, because of StreamEnd::kNeedsWholeTrace.
Result<std::unique_ptr<DeviceResults>> resultsByBlock(TraceScan& scan,
                                                      const AnalysisOptions& options,
                                                      CollectedParts parts);

}  // namespace tracesmith
