// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/step_finder.hpp"

#include <algorithm>

namespace tracesmith {

StepFinder::StepFinder(const Steps& steps) : steps_(steps) {
  for (uint32_t i = 0; i < steps.all.size(); ++i) {
    std::vector<Place>& places = places_[steps.all[i].process];
    // A step that ends before this one cannot be open after it, and is skipped from then on.
    uint32_t longer = places.empty() ? kNone : static_cast<uint32_t>(places.size() - 1);
    while (longer != kNone && steps.all[places[longer].step].end_ns <= steps.all[i].end_ns) {
      longer = places[longer].longer;
    }
    places.push_back({i, longer});
  }
}

size_t StepFinder::stepOf(const DeviceOp& op) const {
  if (steps_.device_times) return stepAt(op.process, op.begin_ns);
  if (op.launch == DeviceOp::kNone) return steps_.all.size();
  return stepAt(op.process, ops_->calls.beginNs(op.launch));
}

StepFinder::Found StepFinder::findAt(ProcessId process, int64_t at) const {
  const Found none{.step = steps_.all.size()};
  auto found = places_.find(process);
  if (found == places_.end()) {
    // If only one process has steps, the others may work for it. In a container, tools may also
    // list one process under two pids.
    if (places_.size() != 1 || steps_.from == Steps::From::kRepeatedKernels) return none;
    found = places_.begin();
  }
  const std::vector<Place>& places = found->second;
  const auto after = std::upper_bound(
      places.begin(), places.end(), at,
      [&](int64_t time, const Place& place) { return time < steps_.all[place.step].begin_ns; });
  if (after == places.begin()) return none;
  const Step& last = steps_.all[(after - 1)->step];
  if (at < last.end_ns) {
    const int64_t next_ns = after == places.end() ? INT64_MAX : steps_.all[after->step].begin_ns;
    return {(after - 1)->step, process, last.begin_ns, std::min(last.end_ns, next_ns)};
  }
  auto place = static_cast<uint32_t>(after - places.begin() - 1);
  while (place != kNone && steps_.all[places[place].step].end_ns <= at) {
    place = places[place].longer;
  }
  return place == kNone ? none : Found{.step = places[place].step};
}

StepUses stepUses(const Trace& trace, const DeviceOps& ops) {
  StepUses out{.steps = stepsOf(trace, ops), .uses = {}};
  std::vector<Step>& all = out.steps.all;
  if (ops.until_ns) {
    constexpr int64_t kRounding = 1000;  // rounded up, like that time
    std::erase_if(all, [&](const Step& s) { return s.begin_ns > *ops.until_ns - kRounding; });
  }
  const StepFinder finder(out.steps, ops);
  std::vector<DeviceOps> by_step(all.size());
  for (const StreamOps& stream : ops.streams) {
    for (uint32_t i = stream.begin; i < stream.end; ++i) {
      const size_t step = finder.stepOf(ops.ops[i]);
      if (step >= all.size()) continue;
      DeviceOps& of = by_step[step];
      const auto next = static_cast<uint32_t>(of.ops.size());
      if (of.streams.empty() || of.streams.back().stream != stream.stream) {
        of.streams.push_back({stream.stream, stream.device, next, next});
      }
      of.ops.push_back(ops.ops[i]);
      of.streams.back().end = next + 1;
    }
  }
  for (const DeviceOps& of_step : by_step) {
    out.uses.push_back({of_step.ops.size(), sumOverDevices(of_step)});
  }
  return out;
}

}  // namespace tracesmith
