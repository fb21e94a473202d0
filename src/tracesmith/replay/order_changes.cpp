// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/order_changes.hpp"

#include <map>
#include <set>

#include "tracesmith/replay/unordered_pairs.hpp"

namespace tracesmith {

OrderChanges orderChanges(const ReplayPlan& plan, const StepDependencies& dependencies,
                          size_t most) {
  OrderChanges out;
  std::map<ObjectIndex, std::vector<StepIndex>> queues;
  for (const StepIndex i : lateLegalOrder(plan, dependencies, {})) {
    if (isCommand(plan.step(i))) queues[plan.step(i).queue].push_back(i);
  }
  std::set<ObjectIndex> changed;
  const auto changeQueue = [&](ObjectIndex queue) {
    if (!changed.insert(queue).second) return;
    if (out.late.size() < most) {
      out.late.push_back(queues[queue]);
    } else {
      out.left_out += queues[queue].size();
    }
  };
  std::set<StepIndex> alone;
  const auto change = [&](const UnorderedPair& pair) {
    const ObjectIndex queue = plan.step(pair.first).queue;
    if (!isOutOfOrder(plan, queue)) {
      changeQueue(queue);
    } else if (alone.insert(pair.first).second) {
      if (out.late.size() < most) {
        out.late.push_back({pair.first});
      } else {
        ++out.left_out;
      }
    }
  };
  if (!forEachUnorderedPair(plan, dependencies, change)) {
    for (const auto& [queue, steps] : queues) {
      if (queues.size() > 1) changeQueue(queue);
      if (isOutOfOrder(plan, queue)) out.left_out += steps.size();
    }
  }
  return out;
}

}  // namespace tracesmith
