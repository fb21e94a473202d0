// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/step_uses.hpp"

#include "tracesmith/analysis/timing/step_finder.hpp"

namespace tracesmith {

StepUses stepUses(const Trace& trace, const DeviceOps& ops) {
  StepUses out{.steps = stepsOf(trace, ops), .uses = {}};
  std::vector<Step>& all = out.steps.all;
  if (ops.until_ns) {
    constexpr int64_t kRounding = 1000;  // rounded up, like that time
    std::erase_if(all, [&](const Step& s) { return s.begin_ns > *ops.until_ns - kRounding; });
  }
  const StepFinder finder(out.steps, ops);
  std::vector<DeviceOps> by_step(all.size());
  for (const DeviceOp& op : ops.ops) {
    const size_t step = finder.stepOf(op);
    if (step < all.size()) by_step[step].ops.push_back(op);
  }
  for (const DeviceOps& of_step : by_step) {
    out.uses.push_back({of_step.ops.size(), sumOverDevices(of_step)});
  }
  return out;
}

}  // namespace tracesmith
