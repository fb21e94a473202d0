// SPDX-License-Identifier: Apache-2.0
// Dependencies between steps, and orders that respect them.
//
// The dependencies are exact where the recording states them: the order of an in-order queue,
// barriers, wait lists, user events, and what the host waited for before its next call. Host calls
// of different threads are assumed to have happened in the recorded order, so an order reported as
// legal is legal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tracesmith/replay/plan/replay_plan.hpp"

namespace tracesmith {

/// True for what a device or queue executes: the steps that other orders may move. All other steps
/// prepare objects and come first.
bool isCommand(const ReplayStep& step);
/// True for calls and commands after which the host knows that others have ended.
bool hostWaits(const ReplayStep& step);
/// True for steps that restore recorded memory content: the start of a range, or what the host left
/// in shared memory.
bool restoresMemory(const ReplayStep& step);
/// True for steps that other orders may move: commands, waiting calls, steps that restore memory,
/// and steps that mark when the host continued (the Done of a waiting call, the setting of an
/// event).
bool isMovable(const ReplayPlan& plan, StepIndex step);

/// True for steps that move and still have to be executed when each command ends before the next
/// starts, so that there is nothing to wait for.
bool isExecutedAlone(const ReplayStep& step);

/// True for a queue whose commands wait only for their wait lists and barriers.
bool isOutOfOrder(const ReplayPlan& plan, ObjectIndex queue);

class StepDependencies {
 public:
  /// Takes time linear in the number of steps and waits.
  static StepDependencies of(const ReplayPlan& plan);

  /// Steps that have to end before `step` starts, out of the steps that move. Most are earlier
  /// ones, but a later call may set the event that a command waits for. In a damaged recording the
  /// dependencies may form a cycle.
  std::span<const StepIndex> before(StepIndex step) const {
    return std::span(list_).subspan(first_[step], first_[step + 1] - first_[step]);
  }
  size_t edges() const { return list_.size(); }

 private:
  std::vector<uint32_t> first_;
  std::vector<StepIndex> list_;
};

/// Returns the steps that move, in a random order that respects `dependencies`. The same seed gives
/// the same order on every machine. Steps in a cycle come last, in recorded order; this also holds
/// for the functions below.
std::vector<StepIndex> randomLegalOrder(const ReplayPlan& plan,
                                        const StepDependencies& dependencies, uint64_t seed);

/// Returns the steps that move in recorded order, as far as legal, but with `late` after every step
/// that need not come after one of them. A step that is not ordered with a step of `late`, and
/// follows it in the recording, comes before it. `late` may hold all steps of an in-order queue.
std::vector<StepIndex> lateLegalOrder(const ReplayPlan& plan, const StepDependencies& dependencies,
                                      std::span<const StepIndex> late);

/// Returns all steps before `end` in recorded order. A step that was recorded later but is needed
/// comes directly before the step that needs it. Executing the commands one after the other is then
/// a legal order.
std::vector<StepIndex> serialOrder(const ReplayPlan& plan, StepIndex end);

/// As serialOrder(), for a single thread that issues all calls of the program and lets commands
/// wait for each other. Later steps move forward only where the thread would otherwise wait
/// forever: at a waiting call, at the end, and at `stops`, before which everything has to end.
std::vector<StepIndex> callOrder(const ReplayPlan& plan, StepIndex end,
                                 const std::vector<StepIndex>& stops);

}  // namespace tracesmith
