// SPDX-License-Identifier: Apache-2.0
// Finds the step to which a piece of device work belongs, and what devices did for each step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"
#include "tracesmith/analysis/timing/steps.hpp"
#include "tracesmith/analysis/timing/time_breakdown.hpp"

namespace tracesmith {

/// `steps` and `ops` must outlive this object.
class StepFinder {
 public:
  explicit StepFinder(const Steps& steps);
  StepFinder(const Steps& steps, const DeviceOps& ops) : StepFinder(steps) { ops_ = &ops; }

  /// Index in Steps::all of the step, within its process, in which an op was launched (started, if
  /// step times are device times). If several are open, the one that started last. If only one
  /// process marks steps, they apply to all processes. all.size(): none.
  size_t stepOf(const DeviceOp& op) const;
  /// The same for work of a process that was launched (started) at this time; needs no ops.
  size_t stepAt(ProcessId process, int64_t time) const { return findAt(process, time).step; }

  /// A step and a time in which all work of the process belongs to it, for a search that may often
  /// find the same step again.
  struct Found {
    size_t step = 0;
    ProcessId process{};
    int64_t begin_ns = 0, end_ns = 0;  ///< end_ns <= begin_ns: at no time
  };
  /// stepAt(), and what is found goes to `last`.
  size_t stepAt(ProcessId process, int64_t time, Found& last) const {
    const bool is_same = process == last.process && time >= last.begin_ns && time < last.end_ns;
    if (!is_same) last = findAt(process, time);
    return last.step;
  }

 private:
  Found findAt(ProcessId process, int64_t time) const;

  /// Steps of one process, by start.
  struct Place {
    uint32_t step = 0;
    uint32_t longer = kNone;  ///< the last earlier step that ends later
  };
  static constexpr uint32_t kNone = DeviceOp::kNone;

  const Steps& steps_;
  const DeviceOps* ops_ = nullptr;
  std::map<ProcessId, std::vector<Place>> places_;
};

/// An op belongs to the step in which it was launched; its whole duration counts there.
struct StepUse {
  uint64_t launched = 0;  ///< ops
  TimeBreakdown times;    ///< sumOverDevices()
};
struct StepUses {
  Steps steps;
  std::vector<StepUse> uses;  ///< of each of steps.all
};

/// Without steps that start after DeviceOps::until_ns.
StepUses stepUses(const Trace& trace, const DeviceOps& ops);

}  // namespace tracesmith
