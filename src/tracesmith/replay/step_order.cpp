// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/step_order.hpp"

#include <functional>
#include <queue>
#include <unordered_map>

#include "tracesmith/replay/random.hpp"

namespace tracesmith {

using namespace recording;

namespace {

struct Queue {
  bool out_of_order = false;
  StepIndex last = kNoStep;          // in order: the command before; else the last barrier
  std::vector<StepIndex> unordered;  // commands since that barrier
};

}  // namespace

bool isOutOfOrder(const ReplayPlan& plan, ObjectIndex queue) {
  constexpr uint64_t kOutOfOrder = 1;  // CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
  CreateQueue made;
  const StepIndex by = plan.object(queue).made_by;
  return by != kNoStep && decode(plan.step(by).fields, made) && (made.properties & kOutOfOrder);
}

bool isCommand(const ReplayStep& step) {
  switch (step.kind()) {
    case CommandKind::kLaunch:
    case CommandKind::kWrite:
    case CommandKind::kRead:
    case CommandKind::kCopy:
    case CommandKind::kFill:
    case CommandKind::kMap:
    case CommandKind::kUnmap:
    case CommandKind::kMigrate:
    case CommandKind::kSvmCopy:
    case CommandKind::kSvmFill:
    case CommandKind::kSvmMap:
    case CommandKind::kSvmUnmap:
    case CommandKind::kMarker:
      return true;
    case CommandKind::kSvmFree:
    case CommandKind::kWaitForEvents:
    case CommandKind::kUnsupported:
      return step.queue != 0;
    default:
      return false;
  }
}

bool hostWaits(const ReplayStep& step) {
  if (step.kind() == CommandKind::kFinish) return true;
  if (step.kind() == CommandKind::kWaitForEvents) return step.queue == 0;
  return isCommand(step) && (step.header.flags & command_flags::kBlocking) != 0;
}

StepDependencies StepDependencies::of(const ReplayPlan& plan) {
  StepDependencies out;
  const size_t n = plan.steps().size();
  out.first_.resize(n + 1);
  std::unordered_map<ObjectIndex, Queue> queues;
  std::vector<StepIndex> producer(plan.objects().size(), kNoStep);  // of events
  StepIndex last_wait = kNoStep;                                    // of the host
  const auto depend = [&](StepIndex on) {
    if (on != kNoStep) out.list_.push_back(on);
  };
  const auto queueOf = [&](ObjectIndex queue) -> Queue& {
    const auto [it, is_new] = queues.try_emplace(queue);
    if (is_new) it->second.out_of_order = queue != 0 && isOutOfOrder(plan, queue);
    return it->second;
  };
  for (StepIndex i = 0; i < n; ++i) {
    out.first_[i] = static_cast<uint32_t>(out.list_.size());
    const ReplayStep& step = plan.step(i);
    // What failed when it was recorded left no trace in any queue.
    if (step.header.result != 0) continue;
    if (step.kind() == CommandKind::kSetUserEventStatus && step.object != 0) {
      // What waits for it waits for what the host had waited for before.
      producer[step.object] = last_wait;
      continue;
    }
    const bool command = isCommand(step);
    const bool waits = hostWaits(step);
    if (!command && !waits) continue;
    depend(last_wait);
    for (const ObjectIndex event : plan.waitsOf(step)) depend(producer[event]);
    if (step.kind() == CommandKind::kUnmap) depend(step.of);
    if (step.kind() == CommandKind::kFinish) {
      Queue& queue = queueOf(step.queue);
      depend(queue.last);
      for (const StepIndex other : queue.unordered) depend(other);
      queue.unordered.clear();
      queue.last = queue.out_of_order ? i : queue.last;
    } else if (command) {
      Queue& queue = queueOf(step.queue);
      depend(queue.last);
      if (!queue.out_of_order) {
        queue.last = i;
      } else {
        const bool marker = step.kind() == CommandKind::kMarker;
        Marker m;
        const bool barrier = step.kind() == CommandKind::kWaitForEvents ||
                             (marker && decode(step.fields, m) && m.is_barrier != 0);
        // Without a list it stands for all that came before; with one, only for the list.
        if ((marker || barrier) && step.waits == 0) {
          for (const StepIndex other : queue.unordered) depend(other);
        }
        if (barrier) {
          if (step.waits == 0) queue.unordered.clear();
          queue.last = i;
        }
        queue.unordered.push_back(i);
      }
    }
    if (step.event != 0) producer[step.event] = i;
    if (waits) last_wait = i;
  }
  out.first_[n] = static_cast<uint32_t>(out.list_.size());
  return out;
}

namespace {

/// Hands out the steps that move once all before them were.
class Schedule {
 public:
  Schedule(const ReplayPlan& plan, const StepDependencies& dependencies)
      : left_(plan.steps().size()), first_(plan.steps().size() + 1), after_(dependencies.edges()) {
    const size_t n = plan.steps().size();
    for (StepIndex i = 0; i < n; ++i) {
      left_[i] = static_cast<uint32_t>(dependencies.before(i).size());
      for (const StepIndex on : dependencies.before(i)) ++first_[on + 1];
      const ReplayStep& step = plan.step(i);
      const bool moves = isCommand(step) || hostWaits(step);
      if (moves) ++moving_;
      if (moves && left_[i] == 0) ready.push_back(i);
    }
    for (size_t i = 0; i < n; ++i) first_[i + 1] += first_[i];
    std::vector<uint32_t> place(first_.begin(), first_.end() - 1);
    for (StepIndex i = 0; i < n; ++i) {
      for (const StepIndex on : dependencies.before(i)) after_[place[on]++] = i;
    }
  }
  size_t moving() const { return moving_; }
  /// Calls f with each step that becomes ready when `step` is over.
  template <class F>
  void over(StepIndex step, F&& f) {
    for (uint32_t a = first_[step]; a < first_[step + 1]; ++a) {
      if (--left_[after_[a]] == 0) f(after_[a]);
    }
  }
  std::vector<StepIndex> ready;  ///< at the begin

 private:
  std::vector<uint32_t> left_;  // that have to be over before
  std::vector<uint32_t> first_;
  std::vector<StepIndex> after_;
  size_t moving_ = 0;
};

}  // namespace

std::vector<StepIndex> randomLegalOrder(const ReplayPlan& plan,
                                        const StepDependencies& dependencies, uint64_t seed) {
  Schedule schedule(plan, dependencies);
  std::vector<StepIndex> ready = std::move(schedule.ready);
  std::vector<StepIndex> order;
  order.reserve(schedule.moving());
  Random random(seed);
  while (!ready.empty()) {
    const size_t pick = random.below(ready.size());
    const StepIndex step = ready[pick];
    ready[pick] = ready.back();
    ready.pop_back();
    order.push_back(step);
    schedule.over(step, [&](StepIndex next) { ready.push_back(next); });
  }
  return order;
}

std::vector<StepIndex> lateLegalOrder(const ReplayPlan& plan, const StepDependencies& dependencies,
                                      std::span<const StepIndex> late) {
  std::vector<bool> is_late(plan.steps().size());
  for (const StepIndex step : late) is_late[step] = true;
  Schedule schedule(plan, dependencies);
  using Turn = std::pair<bool, StepIndex>;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> ready;
  for (const StepIndex step : schedule.ready) ready.emplace(is_late[step], step);
  std::vector<StepIndex> order;
  order.reserve(schedule.moving());
  while (!ready.empty()) {
    const StepIndex step = ready.top().second;
    ready.pop();
    order.push_back(step);
    schedule.over(step, [&](StepIndex next) { ready.emplace(is_late[next], next); });
  }
  return order;
}

}  // namespace tracesmith
