// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/order_changes.hpp"

#include <map>
#include <set>
#include <unordered_map>

#include "tracesmith/replay/memory_use.hpp"

namespace tracesmith {
namespace {

/// Beyond it what precedes each command takes too much memory (32 MB at this number).
constexpr size_t kMostCommands = 16384;

struct User {
  StepIndex step;
  size_t place;  // among the steps that move
  bool writes;
};

}  // namespace

OrderChanges orderChanges(const ReplayPlan& plan, const StepDependencies& dependencies,
                          size_t most) {
  OrderChanges out;
  // What comes before a step is known when it is its turn.
  const std::vector<StepIndex> order = lateLegalOrder(plan, dependencies, {});
  std::vector<size_t> place(plan.steps().size());
  std::map<ObjectIndex, std::vector<StepIndex>> queues;
  for (size_t p = 0; p < order.size(); ++p) {
    const ReplayStep& step = plan.step(order[p]);
    place[order[p]] = p;
    if (isCommand(step)) queues[step.queue].push_back(order[p]);
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
  if (order.size() > kMostCommands) {
    for (const auto& [queue, steps] : queues) {
      if (queues.size() > 1) changeQueue(queue);
      if (isOutOfOrder(plan, queue)) out.left_out += steps.size();
    }
    return out;
  }
  std::vector<std::vector<bool>> before(order.size());
  std::unordered_map<ObjectIndex, std::vector<User>> users;  // by roots
  std::set<StepIndex> alone;
  for (const StepIndex i : order) {
    const ReplayStep& step = plan.step(i);
    std::vector<bool>& mine = before[place[i]];
    mine.resize(place[i]);
    for (const StepIndex on : dependencies.before(i)) {
      // In a circle there is no before.
      if (place[on] >= place[i] || mine[place[on]]) continue;
      const std::vector<bool>& its = before[place[on]];
      for (size_t b = 0; b < its.size(); ++b) {
        if (its[b]) mine[b] = true;
      }
      mine[place[on]] = true;
    }
    if (!isCommand(step) || step.header.result != 0) continue;
    for (const MemoryUse& use : memoryUse(plan, step)) {
      std::vector<User>& others = users[rootOf(plan, use.memory)];
      for (auto other = others.rbegin(); other != others.rend(); ++other) {
        if (other->step == i || mine[other->place] || (!use.writes && !other->writes)) continue;
        const ObjectIndex queue = plan.step(other->step).queue;
        if (!isOutOfOrder(plan, queue)) {
          changeQueue(queue);
        } else if (alone.insert(other->step).second) {
          if (out.late.size() < most) {
            out.late.push_back({other->step});
          } else {
            ++out.left_out;
          }
        }
      }
      others.push_back({i, place[i], use.writes});
    }
  }
  return out;
}

}  // namespace tracesmith
