// SPDX-License-Identifier: Apache-2.0
// A trace in memory for analyses of how calls, launches and work depend on each other: all device
// work and host calls, in half of the memory that the whole trace takes.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tracesmith/analysis/critical_path/op_order.hpp"
#include "tracesmith/analysis/timing/call_path_costs.hpp"
#include "tracesmith/analysis/timing/device_ops.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/format/trace_scan.hpp"

namespace tracesmith {

struct WorkTrace {
  /// Has all rows of all tables but counters, program builds, flow events, and attributes unless
  /// there are calls of communication libraries. Of kernels, only the
  /// launch shape is read; of host calls, the times, names, places and kinds. Other columns of
  /// these two tables are 0 and take no memory.
  Trace trace;
  DeviceOps ops;                              ///< DeviceOps::of() the whole trace
  TimeRange range;                            ///< timeRange() of the whole trace
  std::vector<CallPathCost> call_path_costs;  ///< callPathCosts() of the whole trace
  OpOrders orders;                            ///< of `ops`
};

/// nullptr: the trace must be read as a whole, because correlation ids repeat, because events order
/// its work (FlowKind::kWait), or because blocks are damaged. Calls on_kernels(rows, thread) for
/// the kernels of each block, of which all columns that DeviceOp, shapes and stacks need are read,
/// on several threads at once.
Result<std::unique_ptr<WorkTrace>> readWorkTrace(
    TraceScan& scan,
    const std::function<void(const KernelTable& rows, unsigned thread)>& on_kernels);

}  // namespace tracesmith
