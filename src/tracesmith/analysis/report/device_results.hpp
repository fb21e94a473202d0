// SPDX-License-Identifier: Apache-2.0
// What a report says of device work, wherever it was computed: from a trace in memory, or block by
// block from a file.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"
#include "tracesmith/analysis/timing/kernel_stats.hpp"
#include "tracesmith/analysis/timing/peer_copies.hpp"
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
};

/// Computes each when it is asked for. The arguments must outlive it.
std::unique_ptr<DeviceResults> resultsInMemory(const Trace& trace, const DeviceOps& ops,
                                               const AnalysisOptions& options);

/// Computes all in one pass; `scan` must outlive it. Without `names`, kernels(), copies() and
/// peers() are empty: their durations take most of the memory. nullptr: the trace must be read as a
/// whole (StreamEnd::kNeedsWholeTrace).
Result<std::unique_ptr<DeviceResults>> resultsByBlock(TraceScan& scan,
                                                      const AnalysisOptions& options, bool names);

}  // namespace tracesmith
