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

/// A byte that differs now, but did not before or differed in another way, was computed from
/// differing bytes: from uninitialised memory.
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

/// Runs two replays, command by command.
class TwinRun {
 public:
  TwinRun(const ReplayPlan& plan, Executor& one, Executor& other)
      : plan_(plan), one_(one), other_(other) {}
  RunResult go(RunProgress* progress);

 private:
  Contents look(ObjectIndex memory);
  void forget(ObjectIndex memory);
  void compareShown(StepIndex of);
  void perform(StepIndex i);
  std::vector<ObjectIndex> writtenBy(const ReplayStep& step) const;
  Contents compareWritten(StepIndex i, ObjectIndex memory);

  const ReplayPlan& plan_;
  Executor& one_;
  Executor& other_;
  RunResult result_;
  // Content of each memory object; updated after each command that may have written it.
  std::unordered_map<ObjectIndex, Contents> known_;
};

Contents TwinRun::look(ObjectIndex memory) {
  Contents pair;
  if (auto bytes = one_.contents(memory)) pair.one = std::move(*bytes);
  if (auto bytes = other_.contents(memory)) pair.other = std::move(*bytes);
  return pair;
}

void TwinRun::forget(ObjectIndex memory) {
  // Sub-buffers and their parents change together.
  const ObjectIndex root = rootOf(plan_, memory);
  std::erase_if(known_, [&](const auto& entry) { return rootOf(plan_, entry.first) == root; });
}

/// Compares the data that both read back with the command `of`.
void TwinRun::compareShown(StepIndex of) {
  const auto a = one_.shown(of);
  const auto b = other_.shown(of);
  if (!a || !b) return;
  UninitialisedUse use{of, plan_.step(of).object, 0, 0};
  compare({}, {Bytes(a->begin(), a->end()), Bytes(b->begin(), b->end())}, use);
  if (use.bytes != 0) result_.uninitialised.push_back(use);
}

std::vector<ObjectIndex> TwinRun::writtenBy(const ReplayStep& step) const {
  std::vector<ObjectIndex> written;
  for (const MemoryUse& use : memoryUse(plan_, step)) {
    if (use.writes && step.header.result == 0) written.push_back(use.memory);
  }
  return written;
}

/// Compares the content of `memory` after command `i`, which may have written it.
Contents TwinRun::compareWritten(StepIndex i, ObjectIndex memory) {
  Contents after = look(memory);
  UninitialisedUse use{i, memory, 0, 0};
  compare(known_[memory], after, use);
  // A copy passes content on and computes nothing.
  if (use.bytes != 0 && plan_.step(i).kind() == CommandKind::kLaunch) {
    result_.uninitialised.push_back(use);
  }
  return after;
}

void TwinRun::perform(StepIndex i) {
  const ReplayStep& step = plan_.step(i);
  const bool computes = step.header.result == 0 &&
                        (step.kind() == CommandKind::kLaunch || step.kind() == CommandKind::kCopy ||
                         step.kind() == CommandKind::kSvmCopy);
  const std::vector<ObjectIndex> written = writtenBy(step);
  if (computes) {
    for (const ObjectIndex memory : written) {
      if (!known_.contains(memory)) known_[memory] = look(memory);
    }
  }
  const StepOutcome outcome = one_.perform(i, StepMode::kAlone);
  (void)other_.perform(i, StepMode::kAlone);
  if (outcome.executed) ++result_.executed;
  if (step.kind() == CommandKind::kLaunch && outcome.executed) ++result_.launches;
  std::vector<std::pair<ObjectIndex, Contents>> now;
  for (const ObjectIndex memory : written) {
    if (computes) now.emplace_back(memory, compareWritten(i, memory));
  }
  for (const ObjectIndex memory : written) forget(memory);
  for (auto& [memory, pair] : now) {
    if (rootOf(plan_, memory) == memory) known_[memory] = std::move(pair);
  }
  if (step.kind() == CommandKind::kRelease) known_.erase(step.object);
}

RunResult TwinRun::go(RunProgress* progress) {
  result_.device = one_.deviceName();
  result_.same_device = one_.sameDevice();
  const int64_t began_ns = monotonicNs();
  for (const StepIndex i : serialOrder(plan_, static_cast<StepIndex>(plan_.steps().size()))) {
    if (progress != nullptr) {
      progress->since_ns.store(monotonicNs(), std::memory_order_relaxed);
      progress->step.store(i, std::memory_order_relaxed);
    }
    const ReplayStep& step = plan_.step(i);
    if (step.kind() == CommandKind::kDone) {
      if (step.of != kNoStep) compareShown(step.of);
      continue;
    }
    perform(i);
    if (progress != nullptr) progress->steps_done.fetch_add(1, std::memory_order_relaxed);
  }
  result_.duration_ns = monotonicNs() - began_ns;
  return std::move(result_);
}

}  // namespace

RunResult runTwins(const ReplayPlan& plan, Executor& one, Executor& other, RunProgress* progress) {
  return TwinRun(plan, one, other).go(progress);
}

}  // namespace tracesmith
