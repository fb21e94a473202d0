// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/streaming/step_sweep.hpp"

#include <utility>

namespace tracesmith {

StepSweep::StepSweep(const Trace& tables, Steps steps)
    : tables_(tables), steps_(std::move(steps)), finder_(steps_), uses_(steps_.all.size()) {}

void StepSweep::add(const StreamedOp& op) {
  if (!steps_.device_times && op.launch_ns == LaunchTimes::kNone) return;
  const size_t step =
      finder_.stepAt(op.process, steps_.device_times ? op.begin_ns : op.launch_ns, last_);
  if (step >= uses_.size()) return;
  ++uses_[step].launched;
  uses_[step].devices[tables_.deviceOf(op.stream)].add(op);
}

StepUses StepSweep::finish() {
  StepUses out{.steps = steps_, .uses = {}};
  for (Use& use : uses_) {
    std::vector<TimeBreakdown> devices;
    for (auto& [device, sweep] : use.devices) devices.push_back(sweep.finish());
    out.uses.push_back({use.launched, sumOf(devices)});
  }
  return out;
}

}  // namespace tracesmith
