// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/plan/step_order.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <unordered_map>

#include "tracesmith/replay/plan/random.hpp"

namespace tracesmith {

using namespace recording;

namespace {

struct Queue {
  bool out_of_order = false;
  StepIndex last = kNoStep;  // in-order: the previous command; otherwise the last barrier
  // Commands since that barrier; a marker without a list replaces those before it.
  std::vector<StepIndex> unordered;
};

/// True for a call recorded when it started: its Done marks its end. If the Done is missing, the
/// call never ended in the recording.
bool hasEnd(const ReplayStep& call) { return (call.header.flags & command_flags::kStarted) != 0; }

/// For each user event: the call that sets it.
std::vector<StepIndex> eventSetters(const ReplayPlan& plan) {
  std::vector<StepIndex> setter(plan.objects().size(), kNoStep);
  for (StepIndex i = 0; i < plan.steps().size(); ++i) {
    const ReplayStep& step = plan.step(i);
    if (step.kind() != CommandKind::kSetUserEventStatus || step.header.result != 0) continue;
    if (step.object != 0 && setter[step.object] == kNoStep) setter[step.object] = i;
  }
  return setter;
}

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

bool restoresMemory(const ReplayStep& step) {
  Snapshot snapshot;
  // A snapshot that belongs to a launch is for comparison only.
  return step.kind() == CommandKind::kSnapshot && step.object != 0 &&
         decode(step.fields, snapshot) && snapshot.after == 0;
}

bool isMovable(const ReplayPlan& plan, StepIndex i) {
  const ReplayStep& step = plan.step(i);
  if (step.kind() == CommandKind::kSetUserEventStatus || restoresMemory(step)) return true;
  if (step.kind() != CommandKind::kDone || step.of == kNoStep) {
    return isCommand(step) || hostWaits(step);
  }
  const ReplayStep& call = plan.step(step.of);
  return hostWaits(call) && hasEnd(call) && call.done == i;
}

bool isExecutedAlone(const ReplayStep& step) {
  return isCommand(step) || step.kind() == CommandKind::kSetUserEventStatus ||
         step.kind() == CommandKind::kSnapshot;
}

namespace {

/// Walks through the steps and finds the dependencies of each.
class DependencyWalk {
 public:
  explicit DependencyWalk(const ReplayPlan& plan)
      : plan_(plan), producer_(eventSetters(plan)), mapped_by_(plan.objects().size(), kNoStep) {}
  /// Adds the dependencies of step `i` to list(). Call with steps in order.
  void add(StepIndex i);
  std::vector<StepIndex>& list() { return list_; }

 private:
  void depend(StepIndex on) {
    if (on != kNoStep) list_.push_back(on);
  }
  void dependOnAllOf(const Queue& queue) {
    depend(queue.last);
    for (const StepIndex other : queue.unordered) depend(other);
  }
  Queue& queueOf(ObjectIndex queue) {
    const auto [it, is_new] = queues_.try_emplace(queue);
    if (is_new) it->second.out_of_order = queue != 0 && isOutOfOrder(plan_, queue);
    return it->second;
  }
  void addSnapshot(const ReplayStep& step);
  void addFailedWait(const ReplayStep& step);
  void addFinish(const ReplayStep& step, StepIndex i);
  void addCommand(const ReplayStep& step, StepIndex i);

  const ReplayPlan& plan_;
  std::vector<StepIndex> list_;
  std::unordered_map<ObjectIndex, Queue> queues_;
  std::vector<StepIndex> producer_;  // by event: the step that ends it
  // The last wait that the host has completed. A wait counts from its end, not from its start.
  StepIndex last_wait_ = kNoStep;
  std::vector<StepIndex> mapped_by_;  // by object: the map of shared memory
};

void DependencyWalk::add(StepIndex i) {
  const ReplayStep& step = plan_.step(i);
  if (!isMovable(plan_, i)) return;
  // A call that failed when it was recorded had no effect on any queue.
  if (step.header.result != 0) {
    if (hostWaits(step) && hasEnd(step)) addFailedWait(step);
    return;
  }
  depend(last_wait_);
  if (step.kind() == CommandKind::kSetUserEventStatus) return;
  if (step.kind() == CommandKind::kDone) {
    depend(step.of);
    last_wait_ = i;
    return;
  }
  if (step.kind() == CommandKind::kSnapshot) {
    addSnapshot(step);
    last_wait_ = i;
    return;
  }
  for (const ObjectIndex event : plan_.waitsOf(step)) depend(producer_[event]);
  if (step.kind() == CommandKind::kUnmap || step.kind() == CommandKind::kSvmUnmap) {
    depend(step.of);
  }
  if (step.kind() == CommandKind::kSvmMap) mapped_by_[step.object] = i;
  if (step.kind() == CommandKind::kSvmUnmap) mapped_by_[step.object] = kNoStep;
  if (step.kind() == CommandKind::kFinish) {
    addFinish(step, i);
  } else if (isCommand(step)) {
    addCommand(step, i);
  }
  if (step.event != 0) producer_[step.event] = i;
  if (hostWaits(step) && !hasEnd(step)) last_wait_ = i;
}

/// Mapped memory belongs to the host; for other memory all queues were finished before the
/// snapshot.
void DependencyWalk::addSnapshot(const ReplayStep& step) {
  if (mapped_by_[step.object] != kNoStep) {
    depend(mapped_by_[step.object]);
    return;
  }
  for (const auto& [handle, queue] : queues_) dependOnAllOf(queue);
  queues_.clear();
}

/// It may have waited for commands before it failed, and will do so again.
void DependencyWalk::addFailedWait(const ReplayStep& step) {
  depend(last_wait_);
  for (const ObjectIndex event : plan_.waitsOf(step)) {
    if (producer_[event] < step.done) depend(producer_[event]);
  }
  if (step.queue == 0) return;
  const Queue& queue = queueOf(step.queue);
  depend(queue.last);
  if (step.kind() != CommandKind::kFinish) return;
  for (const StepIndex other : queue.unordered) depend(other);
}

void DependencyWalk::addFinish(const ReplayStep& step, StepIndex i) {
  Queue& queue = queueOf(step.queue);
  dependOnAllOf(queue);
  queue.unordered.clear();
  queue.last = queue.out_of_order ? i : queue.last;
}

void DependencyWalk::addCommand(const ReplayStep& step, StepIndex i) {
  Queue& queue = queueOf(step.queue);
  depend(queue.last);
  if (!queue.out_of_order) {
    queue.last = i;
    return;
  }
  const bool marker = step.kind() == CommandKind::kMarker;
  Marker m;
  const bool barrier = step.kind() == CommandKind::kWaitForEvents ||
                       (marker && decode(step.fields, m) && m.is_barrier != 0);
  // Without a list it covers all commands before it; with one, only the list.
  if ((marker || barrier) && step.waits == 0) {
    for (const StepIndex other : queue.unordered) depend(other);
    queue.unordered.clear();
  }
  if (barrier) queue.last = i;
  queue.unordered.push_back(i);
}

}  // namespace

StepDependencies StepDependencies::of(const ReplayPlan& plan) {
  StepDependencies out;
  const size_t n = plan.steps().size();
  out.first_.resize(n + 1);
  DependencyWalk walk(plan);
  for (StepIndex i = 0; i < n; ++i) {
    out.first_[i] = static_cast<uint32_t>(walk.list().size());
    walk.add(i);
  }
  out.first_[n] = static_cast<uint32_t>(walk.list().size());
  out.list_ = std::move(walk.list());
  return out;
}

namespace {

/// Hands out the steps that move, each once everything before it has ended.
class Schedule {
 public:
  Schedule(const ReplayPlan& plan, const StepDependencies& dependencies)
      : left_(plan.steps().size()), first_(plan.steps().size() + 1), after_(dependencies.edges()) {
    const size_t n = plan.steps().size();
    for (StepIndex i = 0; i < n; ++i) {
      left_[i] = static_cast<uint32_t>(dependencies.before(i).size());
      for (const StepIndex on : dependencies.before(i)) ++first_[on + 1];
      if (!isMovable(plan, i)) continue;
      moving_.push_back(i);
      if (left_[i] == 0) ready.push_back(i);
    }
    for (size_t i = 0; i < n; ++i) first_[i + 1] += first_[i];
    std::vector<uint32_t> place(first_.begin(), first_.end() - 1);
    for (StepIndex i = 0; i < n; ++i) {
      for (const StepIndex on : dependencies.before(i)) after_[place[on]++] = i;
    }
  }
  size_t moving() const { return moving_.size(); }
  /// Calls f with each step that becomes ready when `step` ends.
  template <class F>
  void over(StepIndex step, F&& f) {
    for (uint32_t a = first_[step]; a < first_[step + 1]; ++a) {
      if (--left_[after_[a]] == 0) f(after_[a]);
    }
  }
  /// Adds the steps that wait in a cycle.
  void addRest(std::vector<StepIndex>& order) const {
    if (order.size() == moving_.size()) return;
    for (const StepIndex step : moving_) {
      if (left_[step] != 0) order.push_back(step);
    }
  }
  std::vector<StepIndex> ready;  ///< ready at the start

 private:
  std::vector<uint32_t> left_;  // by step: number of uncompleted dependencies
  std::vector<uint32_t> first_;
  std::vector<StepIndex> after_;
  std::vector<StepIndex> moving_;
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
  schedule.addRest(order);
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
  schedule.addRest(order);
  return order;
}

namespace {

/// Builds the recorded order, except for steps that must come before another.
class NearOrder {
 public:
  explicit NearOrder(const ReplayPlan& plan)
      : plan_(plan),
        dependencies_(StepDependencies::of(plan)),
        placed_(plan.steps().size()),
        settled_(plan.steps().size()) {}

  void place(StepIndex i) {
    // Earlier steps that do not move prepare objects, possibly for this step.
    for (; made_ < i; ++made_) {
      if (makesReady(made_)) add(made_);
    }
    add(i);
  }

  /// Places all steps that must end before `i`, each after its own dependencies.
  void settle(StepIndex i) {
    std::vector<std::pair<StepIndex, size_t>> path;  // step and number of its dependencies visited
    const auto enter = [&](StepIndex step) {
      if (settled_[step]) return;
      settled_[step] = true;  // a cycle ends here
      path.emplace_back(step, 0);
    };
    enter(i);
    while (!path.empty()) {
      auto& [step, looked_at] = path.back();
      const auto before = dependencies_.before(step);
      if (looked_at < before.size()) {
        enter(before[looked_at++]);
        continue;
      }
      if (step != i) place(step);
      path.pop_back();
    }
  }

  /// Places all steps that must have ended when `end` is reached.
  void settleUntil(StepIndex end) {
    for (; settled_until_ < end; ++settled_until_) settle(settled_until_);
  }

  std::vector<StepIndex> take() { return std::move(order_); }

 private:
  bool makesReady(StepIndex i) const {
    const CommandKind kind = plan_.step(i).kind();
    // A released object may be needed until the position of its release in the recording.
    return !isMovable(plan_, i) && kind != CommandKind::kRelease && kind != CommandKind::kSvmFree &&
           kind != CommandKind::kDone;
  }
  void add(StepIndex i) {
    if (placed_[i]) return;
    placed_[i] = true;
    order_.push_back(i);
  }

  const ReplayPlan& plan_;
  const StepDependencies dependencies_;
  std::vector<bool> placed_;
  std::vector<bool> settled_;  // by step: all its dependencies are placed
  std::vector<StepIndex> order_;
  StepIndex made_ = 0;
  StepIndex settled_until_ = 0;
};

/// Without user events, each step needs only earlier ones.
bool isRecordedOrderLegal(const ReplayPlan& plan) {
  return std::none_of(plan.steps().begin(), plan.steps().end(), [](const ReplayStep& step) {
    return step.kind() == CommandKind::kSetUserEventStatus && step.header.result == 0;
  });
}

std::vector<StepIndex> asRecorded(StepIndex end) {
  std::vector<StepIndex> order(end);
  std::iota(order.begin(), order.end(), StepIndex{0});
  return order;
}

/// Calls at which an executor waits for queues, although the program did not.
bool waitsForQueues(const ReplayPlan& plan, const ReplayStep& step) {
  if (step.kind() == CommandKind::kSvmFree || restoresMemory(step)) return true;
  return step.kind() == CommandKind::kRelease && step.object != 0 &&
         plan.object(step.object).object_class == ObjectClass::kQueue;
}

}  // namespace

std::vector<StepIndex> serialOrder(const ReplayPlan& plan, StepIndex end) {
  if (isRecordedOrderLegal(plan)) return asRecorded(end);
  NearOrder order(plan);
  for (StepIndex i = 0; i < end; ++i) {
    order.settle(i);
    order.place(i);
  }
  return order.take();
}

std::vector<StepIndex> callOrder(const ReplayPlan& plan, StepIndex end,
                                 const std::vector<StepIndex>& stops) {
  if (isRecordedOrderLegal(plan)) return asRecorded(end);
  NearOrder order(plan);
  for (StepIndex i = 0; i < end; ++i) {
    const ReplayStep& step = plan.step(i);
    if (waitsForQueues(plan, step)) order.settleUntil(i);
    if (std::binary_search(stops.begin(), stops.end(), i)) order.settleUntil(i + 1);
    if (hostWaits(step)) order.settle(i);
    order.place(i);
  }
  order.settleUntil(end);
  return order.take();
}

}  // namespace tracesmith
