// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/plan/order_changes.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "tracesmith/replay/plan/unordered_pairs.hpp"

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

std::optional<ReversedOrder> reverseCommands(const ReplayPlan& plan,
                                             const StepDependencies& dependencies,
                                             StepIndex earlier, StepIndex later) {
  const std::vector<StepIndex> order = lateLegalOrder(plan, dependencies, {});
  std::vector<size_t> place(plan.steps().size());
  for (size_t p = 0; p < order.size(); ++p) place[order[p]] = p;
  const size_t first = std::min(place[earlier], place[later]);
  const size_t last = std::max(place[earlier], place[later]);
  // For the steps between the two: which must come after the first, and which before the last.
  std::vector<bool> after(last - first + 1), before(last - first + 1);
  after.front() = true;
  before.back() = true;
  for (size_t p = first + 1; p <= last; ++p) {
    for (const StepIndex on : dependencies.before(order[p])) {
      if (place[on] >= first && place[on] < p && after[place[on] - first]) after[p - first] = true;
    }
  }
  if (after.back()) return std::nullopt;
  for (size_t p = last; p > first; --p) {
    if (!before[p - first]) continue;
    for (const StepIndex on : dependencies.before(order[p])) {
      if (place[on] > first && place[on] < p) before[place[on] - first] = true;
    }
  }
  const auto with_first = std::count(after.begin(), after.end(), true);
  const auto with_last = std::count(before.begin(), before.end(), true);
  const bool delay = with_first <= with_last;
  ReversedOrder out;
  out.moved_along = static_cast<uint32_t>((delay ? with_first : with_last) - 1);
  out.order.assign(order.begin(), order.begin() + static_cast<ptrdiff_t>(first));
  const auto addBetween = [&](bool moved) {
    for (size_t p = first; p <= last; ++p) {
      if ((delay ? after : before)[p - first] == moved) out.order.push_back(order[p]);
    }
  };
  addBetween(!delay);
  addBetween(delay);
  out.settled = static_cast<uint32_t>(out.order.size());
  out.order.insert(out.order.end(), order.begin() + static_cast<ptrdiff_t>(last) + 1, order.end());
  return out;
}

}  // namespace tracesmith
