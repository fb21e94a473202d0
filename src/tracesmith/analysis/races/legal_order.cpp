// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/races/legal_order.hpp"

namespace tracesmith::races {

LegalOrder::LegalOrder(const Program& program)
    : program_(program),
      stream_predecessors_(program.size(), kNone),
      place_(program.size(), 0),
      steps_of_(program.streams()) {
  std::vector<StepId> holding(program.streams(), kNone);
  for (StepId id = 0; id < program.size(); ++id) {
    const Step& step = program.step(id);
    if (step.stream == kNone) continue;
    std::vector<StepId>& steps = steps_of_[step.stream];
    place_[id] = static_cast<uint32_t>(steps.size());
    if (!isOfStream(step.kind)) continue;
    stream_predecessors_[id] = holding[step.stream];
    if (!program.outOfOrder(step.stream) || step.kind == StepKind::kBarrier) {
      holding[step.stream] = id;
    }
    steps.push_back(id);
  }
}

void LegalOrder::prepare() {
  const StepId n = program_.size();
  thread_held_by_.assign(n, kNone);
  done_.assign(n, false);
  called_.assign(n, false);
  first_waiter_.assign(n, kNone);
  next_waiter_.assign(n, kNone);
  waits_done_.assign(n, 0);
  stream_done_.assign(program_.streams(), 0);
  std::vector<StepId> holding(program_.threads(), kNone);
  for (StepId id = 0; id < n; ++id) {
    StepId& holder = holding[program_.step(id).thread];
    thread_held_by_[id] = holder;
    if (holdsThread(program_, id)) holder = id;
  }
}

StepId LegalOrder::threadBlocker(StepId id) const {
  const StepId holder = thread_held_by_[id];
  return holder != kNone && !done_[holder] ? holder : kNone;
}

StepId LegalOrder::streamBlocker(StepId id) {
  const StepId before = stream_predecessors_[id];
  if (before != kNone && !done_[before]) return before;
  const std::span<const StepId> waits = program_.waits(id);
  for (uint32_t& at = waits_done_[id]; at < waits.size(); ++at) {
    if (waits[at] < program_.size() && !done_[waits[at]]) return waits[at];
  }
  if (!endsAfterAll(program_, id)) return kNone;
  const std::vector<StepId>& steps = steps_of_[program_.step(id).stream];
  uint32_t& first = stream_done_[program_.step(id).stream];
  while (first < steps.size() && done_[steps[first]]) ++first;
  return first < place_[id] ? steps[first] : kNone;
}

}  // namespace tracesmith::races
