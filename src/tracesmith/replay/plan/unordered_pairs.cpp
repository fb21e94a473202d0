// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/plan/unordered_pairs.hpp"

#include <map>
#include <tuple>
#include <unordered_map>

#include "tracesmith/replay/plan/memory_use.hpp"

namespace tracesmith {
namespace {

/// More commands would take too much memory for the predecessors of each (32 MB at this number).
constexpr size_t kMostCommands = 16384;

struct User {
  StepIndex step;
  size_t place;  // position among the steps that move
  bool writes;
};

}  // namespace

bool forEachUnorderedPair(const ReplayPlan& plan, const StepDependencies& dependencies,
                          const std::function<void(const UnorderedPair&)>& f) {
  // In this order the predecessors of a step are known when its turn comes.
  const std::vector<StepIndex> order = lateLegalOrder(plan, dependencies, {});
  if (order.size() > kMostCommands) return false;
  std::vector<size_t> place(plan.steps().size());
  for (size_t p = 0; p < order.size(); ++p) place[order[p]] = p;
  std::vector<std::vector<bool>> before(order.size());
  std::unordered_map<ObjectIndex, std::vector<User>> users;  // by root
  for (const StepIndex i : order) {
    const ReplayStep& step = plan.step(i);
    std::vector<bool>& mine = before[place[i]];
    mine.resize(place[i]);
    for (const StepIndex on : dependencies.before(i)) {
      // In a cycle there is no predecessor.
      if (place[on] >= place[i] || mine[place[on]]) continue;
      const std::vector<bool>& its = before[place[on]];
      for (size_t b = 0; b < its.size(); ++b) {
        if (its[b]) mine[b] = true;
      }
      mine[place[on]] = true;
    }
    if (!isCommand(step) || step.header.result != 0) continue;
    for (const MemoryUse& use : memoryUse(plan, step)) {
      const ObjectIndex root = rootOf(plan, use.memory);
      std::vector<User>& others = users[root];
      for (auto other = others.rbegin(); other != others.rend(); ++other) {
        if (other->step == i || mine[other->place] || (!use.writes && !other->writes)) continue;
        f(other->step < i ? UnorderedPair{other->step, i, root}
                          : UnorderedPair{i, other->step, root});
      }
      others.push_back({i, place[i], use.writes});
    }
  }
  return true;
}

UnorderedPairs unorderedPairs(const ReplayPlan& plan, const StepDependencies& dependencies,
                              size_t most) {
  UnorderedPairs out;
  // The kernel of a launch, or the kind of any other command.
  const auto what = [&](StepIndex i) -> uint64_t {
    const ReplayStep& step = plan.step(i);
    const bool launch = step.kind() == recording::CommandKind::kLaunch;
    return launch ? step.object : uint64_t{1} << 32 | static_cast<uint64_t>(step.kind());
  };
  std::map<std::tuple<uint64_t, uint64_t, ObjectIndex>, uint32_t> alike;
  out.too_many_commands = !forEachUnorderedPair(plan, dependencies, [&](const UnorderedPair& pair) {
    uint32_t& count = alike[{what(pair.first), what(pair.second), pair.root}];
    const bool known = !out.pairs.empty() && out.pairs.back().first == pair.first &&
                       out.pairs.back().second == pair.second;
    if (known) return;  // already found through other memory
    if (count >= UnorderedPairs::kMostAlike || out.pairs.size() >= most) {
      ++out.left_out;
      return;
    }
    ++count;
    out.pairs.push_back(pair);
  });
  return out;
}

}  // namespace tracesmith
