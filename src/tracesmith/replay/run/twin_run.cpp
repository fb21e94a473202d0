// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/run/twin_run.hpp"

#include <algorithm>
#include <unordered_map>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/replay/plan/memory_use.hpp"
#include "tracesmith/replay/plan/step_order.hpp"

namespace tracesmith {

using namespace recording;

namespace {

struct Contents {
  Bytes one, other;
};

/// A byte that is different now, and was not, or was different otherwise, was computed from what
/// differed: from memory that nobody had written.
void compare(const Contents& before, const Contents& after, UninitialisedUse& use) {
  const size_t size = std::min(after.one.size(), after.other.size());
  for (size_t i = 0; i < size; ++i) {
    if (after.one[i] == after.other[i]) continue;
    const bool untouched = i < before.one.size() && i < before.other.size() &&
                           before.one[i] == after.one[i] && before.other[i] == after.other[i];
    if (untouched) continue;
    if (use.bytes++ == 0) use.first_byte = i;
  }
}

}  // namespace

RunResult runTwins(const ReplayPlan& plan, Executor& one, Executor& other, RunProgress* progress) {
  RunResult result;
  result.device = one.deviceName();
  result.same_device = one.sameDevice();
  const int64_t began_ns = monotonicNs();
  // What each memory object holds; looked at again after whatever may have written it.
  std::unordered_map<ObjectIndex, Contents> known;
  const auto look = [&](ObjectIndex memory) {
    Contents pair;
    if (auto bytes = one.contents(memory)) pair.one = std::move(*bytes);
    if (auto bytes = other.contents(memory)) pair.other = std::move(*bytes);
    return pair;
  };
  const auto forget = [&](ObjectIndex memory) {
    // Sub-buffers and what they are parts of change together.
    const ObjectIndex root = rootOf(plan, memory);
    std::erase_if(known, [&](const auto& entry) { return rootOf(plan, entry.first) == root; });
  };
  for (const StepIndex i : serialOrder(plan, static_cast<StepIndex>(plan.steps().size()))) {
    const ReplayStep& step = plan.step(i);
    if (progress != nullptr) {
      progress->since_ns.store(monotonicNs(), std::memory_order_relaxed);
      progress->step.store(i, std::memory_order_relaxed);
    }
    if (step.kind() == CommandKind::kDone) {
      if (step.of == kNoStep) continue;
      const auto a = one.shown(step.of);
      const auto b = other.shown(step.of);
      if (!a || !b) continue;
      UninitialisedUse use{step.of, plan.step(step.of).object, 0, 0};
      compare({}, {Bytes(a->begin(), a->end()), Bytes(b->begin(), b->end())}, use);
      if (use.bytes != 0) result.uninitialised.push_back(use);
      continue;
    }
    const bool computes = step.header.result == 0 && (step.kind() == CommandKind::kLaunch ||
                                                      step.kind() == CommandKind::kCopy ||
                                                      step.kind() == CommandKind::kSvmCopy);
    std::vector<ObjectIndex> written;
    for (const MemoryUse& use : memoryUse(plan, step)) {
      if (use.writes && step.header.result == 0) written.push_back(use.memory);
    }
    if (computes) {
      for (const ObjectIndex memory : written) {
        if (!known.contains(memory)) known[memory] = look(memory);
      }
    }
    const StepOutcome outcome = one.perform(i, StepMode::kAlone);
    (void)other.perform(i, StepMode::kAlone);
    if (outcome.executed) ++result.executed;
    if (step.kind() == CommandKind::kLaunch && outcome.executed) ++result.launches;
    std::vector<std::pair<ObjectIndex, Contents>> now;
    for (const ObjectIndex memory : written) {
      if (computes) {
        Contents after = look(memory);
        UninitialisedUse use{i, memory, 0, 0};
        compare(known[memory], after, use);
        // A copy hands on what is there; it computes nothing.
        if (use.bytes != 0 && step.kind() == CommandKind::kLaunch) {
          result.uninitialised.push_back(use);
        }
        now.emplace_back(memory, std::move(after));
      }
    }
    for (const ObjectIndex memory : written) forget(memory);
    for (auto& [memory, pair] : now) {
      if (rootOf(plan, memory) == memory) known[memory] = std::move(pair);
    }
    if (step.kind() == CommandKind::kRelease) known.erase(step.object);
    if (progress != nullptr) progress->steps_done.fetch_add(1, std::memory_order_relaxed);
  }
  result.duration_ns = monotonicNs() - began_ns;
  return result;
}

}  // namespace tracesmith
