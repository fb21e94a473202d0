// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/order_changes.hpp"

#include <algorithm>
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
  const auto n = static_cast<StepIndex>(plan.steps().size());
  std::vector<size_t> place(n);
  std::map<ObjectIndex, std::vector<StepIndex>> queues;
  size_t moving = 0;
  for (StepIndex i = 0; i < n; ++i) {
    const ReplayStep& step = plan.step(i);
    if (!isCommand(step) && !hostWaits(step)) continue;
    place[i] = moving++;
    if (isCommand(step)) queues[step.queue].push_back(i);
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
  if (moving > kMostCommands) {
    for (const auto& [queue, steps] : queues) {
      if (queues.size() > 1) changeQueue(queue);
      if (isOutOfOrder(plan, queue)) out.left_out += steps.size();
    }
    return out;
  }
  std::vector<std::vector<bool>> before(moving);
  std::unordered_map<ObjectIndex, std::vector<User>> users;  // by roots
  std::set<StepIndex> alone;
  for (StepIndex i = 0; i < n; ++i) {
    const ReplayStep& step = plan.step(i);
    if (!isCommand(step) && !hostWaits(step)) continue;
    std::vector<bool>& mine = before[place[i]];
    mine.resize(place[i]);
    for (const StepIndex on : dependencies.before(i)) {
      if (mine[place[on]]) continue;
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

std::vector<StepIndex> recordedOrder(const ReplayPlan& plan) {
  std::vector<StepIndex> order;
  for (StepIndex i = 0; i < plan.steps().size(); ++i) {
    if (isCommand(plan.step(i)) || hostWaits(plan.step(i))) order.push_back(i);
  }
  return order;
}

std::optional<TurnedOrder> turnedRound(const ReplayPlan& plan, const StepDependencies& dependencies,
                                       StepIndex earlier, StepIndex later) {
  // Of the steps from the one to the other: what has to come after `earlier`, before `later`.
  std::vector<bool> after(later - earlier + 1), before(later - earlier + 1);
  after.front() = true;
  before.back() = true;
  for (StepIndex i = earlier + 1; i <= later; ++i) {
    for (const StepIndex on : dependencies.before(i)) {
      if (on >= earlier && on < i && after[on - earlier]) after[i - earlier] = true;
    }
  }
  if (after.back()) return std::nullopt;
  for (StepIndex i = later; i > earlier; --i) {
    if (!before[i - earlier]) continue;
    for (const StepIndex on : dependencies.before(i)) {
      if (on > earlier && on < i) before[on - earlier] = true;
    }
  }
  const auto with_earlier = std::count(after.begin(), after.end(), true);
  const auto with_later = std::count(before.begin(), before.end(), true);
  const bool delay = with_earlier <= with_later;
  TurnedOrder out;
  out.moved_along = static_cast<uint32_t>((delay ? with_earlier : with_later) - 1);
  const auto addBetween = [&](bool moved) {
    for (StepIndex i = earlier; i <= later; ++i) {
      const bool moves = isCommand(plan.step(i)) || hostWaits(plan.step(i));
      if (moves && (delay ? after : before)[i - earlier] == moved) out.order.push_back(i);
    }
  };
  for (const StepIndex i : recordedOrder(plan)) {
    if (i == earlier) {
      addBetween(!delay);
      addBetween(delay);
      out.settled = static_cast<uint32_t>(out.order.size());
    }
    if (i < earlier || i > later) out.order.push_back(i);
  }
  return out;
}

}  // namespace tracesmith
