// SPDX-License-Identifier: Apache-2.0
// What devices did for each step.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"
#include "tracesmith/analysis/timing/steps.hpp"
#include "tracesmith/analysis/timing/time_breakdown.hpp"

namespace tracesmith {

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
