// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/run/pair_run.hpp"

#include <algorithm>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/replay/plan/memory_use.hpp"
#include "tracesmith/replay/plan/step_order.hpp"

namespace tracesmith {

using namespace recording;

namespace {

bool isRead(const ReplayStep& step) {
  return step.kind() == CommandKind::kRead ||
         (step.kind() == CommandKind::kSvmCopy && step.object == 0);
}

/// Memory content after two commands, and data that they showed to the host.
struct Outcome {
  std::vector<Bytes> memory;  // by root
  Bytes shown[2];
};

class PairRun {
 public:
  PairRun(const ReplayPlan& plan, Executor& executor, RunProgress* progress)
      : plan_(plan),
        executor_(executor),
        progress_(progress),
        dependencies_(StepDependencies::of(plan)),
        order_(lateLegalOrder(plan, dependencies_, {})),
        place_(plan.steps().size()),
        over_(plan.steps().size()) {
    for (size_t p = 0; p < order_.size(); ++p) place_[order_[p]] = p;
  }

  RunResult go(std::span<const UnorderedPair> pairs) {
    result_.device = executor_.deviceName();
    result_.same_device = executor_.sameDevice();
    const int64_t began_ns = monotonicNs();
    executor_.keepObjects();
    for (StepIndex i = 0; i < plan_.steps().size(); ++i) {
      if (!isMovable(plan_, i) && plan_.step(i).kind() != CommandKind::kDone) perform(i);
    }
    for (const UnorderedPair& pair : pairs) {
      if (over_[pair.first] || over_[pair.second]) continue;
      const size_t until = std::min(place_[pair.first], place_[pair.second]);
      for (size_t p = 0; p < until; ++p) performOnce(order_[p]);
      performUpTo(pair.first);
      performUpTo(pair.second);
      if (over_[pair.first] || over_[pair.second]) continue;  // they are ordered after all
      tryPair(pair);
    }
    result_.duration_ns = monotonicNs() - began_ns;
    return std::move(result_);
  }

 private:
  bool perform(StepIndex i) {
    if (progress_ != nullptr) {
      progress_->since_ns.store(monotonicNs(), std::memory_order_relaxed);
      progress_->step.store(i, std::memory_order_relaxed);
      progress_->steps_done.fetch_add(1, std::memory_order_relaxed);
    }
    const StepOutcome outcome = executor_.perform(i, StepMode::kAlone);
    if (outcome.executed) ++result_.executed;
    if (outcome.executed && plan_.step(i).kind() == CommandKind::kLaunch) ++result_.launches;
    return outcome.executed && outcome.result == 0;
  }
  void performOnce(StepIndex i) {
    if (over_[i]) return;
    over_[i] = true;
    if (isExecutedAlone(plan_.step(i))) perform(i);
  }
  /// Runs everything that must end before `step`, in recorded order.
  void performUpTo(StepIndex step) {
    std::vector<StepIndex> needed, open = {step};
    std::vector<bool> met(plan_.steps().size());
    while (!open.empty()) {
      const StepIndex at = open.back();
      open.pop_back();
      for (const StepIndex on : dependencies_.before(at)) {
        if (over_[on] || met[on]) continue;
        met[on] = true;
        needed.push_back(on);
        open.push_back(on);
      }
    }
    std::sort(needed.begin(), needed.end(),
              [&](StepIndex a, StepIndex b) { return place_[a] < place_[b]; });
    for (const StepIndex i : needed) performOnce(i);
  }

  std::vector<ObjectIndex> rootsOf(const UnorderedPair& pair) const {
    std::vector<ObjectIndex> roots;
    for (const StepIndex step : {pair.first, pair.second}) {
      for (const MemoryUse& use : memoryUse(plan_, plan_.step(step))) {
        const ObjectIndex root = rootOf(plan_, use.memory);
        if (std::find(roots.begin(), roots.end(), root) == roots.end()) roots.push_back(root);
      }
    }
    return roots;
  }

  /// False when a command could not be run.
  bool run(const UnorderedPair& pair, bool reversed, const std::vector<ObjectIndex>& roots,
           Outcome& outcome) {
    const StepIndex steps[] = {reversed ? pair.second : pair.first,
                               reversed ? pair.first : pair.second};
    for (const StepIndex step : steps) {
      if (!perform(step)) return false;
      if (!isRead(plan_.step(step))) continue;
      const auto shown = executor_.shown(step);
      if (!shown) return false;
      outcome.shown[step == pair.second] = Bytes(shown->begin(), shown->end());
    }
    for (const ObjectIndex root : roots) {
      auto bytes = executor_.contents(root);
      if (!bytes) return false;
      outcome.memory.push_back(std::move(*bytes));
    }
    return true;
  }

  void tryPair(const UnorderedPair& pair) {
    PairOutcome out{pair};
    const std::vector<ObjectIndex> roots = rootsOf(pair);
    std::vector<Bytes> before;
    for (const ObjectIndex root : roots) {
      auto bytes = executor_.contents(root);
      if (bytes) before.push_back(std::move(*bytes));
    }
    const auto restore = [&] {
      for (size_t i = 0; i < roots.size(); ++i) {
        if (!executor_.setContents(roots[i], before[i])) return false;
      }
      return true;
    };
    Outcome as_recorded, reversed, reversed_again, again;
    over_[pair.first] = over_[pair.second] = true;
    // The rest of the replay continues from the last of these runs.
    out.tried = before.size() == roots.size() && run(pair, false, roots, as_recorded) &&
                restore() && run(pair, true, roots, reversed) && restore() &&
                run(pair, true, roots, reversed_again) && restore() &&
                run(pair, false, roots, again);
    if (out.tried) {
      const auto unlike = [](const Outcome& a, const Outcome& b) {
        return a.memory != b.memory || a.shown[0] != b.shown[0] || a.shown[1] != b.shown[1];
      };
      out.unsteady = unlike(again, as_recorded) || unlike(reversed_again, reversed);
      compare(pair, roots, as_recorded, reversed, out);
    }
    result_.pairs.push_back(out);
  }

  void compare(const UnorderedPair& pair, const std::vector<ObjectIndex>& roots, const Outcome& one,
               const Outcome& other, PairOutcome& out) {
    const auto differs = [&](const Bytes& a, const Bytes& b) {
      if (out.bytes != 0) return false;
      for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
        if (a[i] == b[i]) continue;
        if (out.bytes++ == 0) out.first_byte = i;
      }
      return out.bytes != 0;
    };
    // Report the output of the second command first, because it is the most useful to readers.
    for (const bool of_second : {true, false}) {
      const StepIndex step = of_second ? pair.second : pair.first;
      if (differs(one.shown[of_second], other.shown[of_second])) {
        out.shown_by = step;
        out.memory = plan_.step(step).object;
      }
      for (const MemoryUse& use : memoryUse(plan_, plan_.step(step))) {
        const auto at = std::find(roots.begin(), roots.end(), rootOf(plan_, use.memory));
        const auto i = static_cast<size_t>(at - roots.begin());
        if (!differs(one.memory[i], other.memory[i])) continue;
        out.memory = roots[i];
        keepExample(step, use.memory, roots[i], one.memory[i], other.memory[i]);
      }
    }
  }

  void keepExample(StepIndex step, ObjectIndex named, ObjectIndex root, const Bytes& one,
                   const Bytes& other) {
    if (plan_.step(step).kind() != CommandKind::kLaunch || named != root ||
        result_.examples.size() >= RunResult::kMostExamples ||
        one.size() > RunResult::kMostExampleBytes) {
      return;
    }
    result_.examples.push_back({plan_.step(step).launch, root,
                                typeOfArgumentFor(plan_, executor_, step, root), one, other});
  }

  const ReplayPlan& plan_;
  Executor& executor_;
  RunProgress* progress_;
  StepDependencies dependencies_;
  std::vector<StepIndex> order_;  // a legal order, as close to the recorded one as possible
  std::vector<size_t> place_;     // position in `order_`
  std::vector<bool> over_;
  RunResult result_;
};

}  // namespace

RunResult runPairs(const ReplayPlan& plan, Executor& executor, std::span<const UnorderedPair> pairs,
                   RunProgress* progress) {
  return PairRun(plan, executor, progress).go(pairs);
}

bool canTry(const ReplayPlan& plan, const UnorderedPair& pair) {
  for (const StepIndex step : {pair.first, pair.second}) {
    switch (plan.step(step).kind()) {
      case CommandKind::kLaunch:
      case CommandKind::kWrite:
      case CommandKind::kRead:
      case CommandKind::kCopy:
      case CommandKind::kFill:
      case CommandKind::kSvmCopy:
      case CommandKind::kSvmFill:
        break;
      default:
        return false;
    }
  }
  return true;
}

}  // namespace tracesmith
