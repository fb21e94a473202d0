// SPDX-License-Identifier: Apache-2.0
// A legal order of the steps of a program: call order, except for steps that wait for a user event
// or another later step, and steps that wait for those in turn. Among the possible next steps it
// takes the one called first.
#pragma once

#include <queue>
#include <vector>

#include "tracesmith/analysis/races/race_program.hpp"

namespace tracesmith::races {

/// Takes time linear in steps and waits; with stalled steps, multiplied by the logarithm of their
/// number.
class LegalOrder {
 public:
  explicit LegalOrder(const Program& program);

  /// The step of the same stream that delays this one regardless of its wait list: in an in-order
  /// stream the previous step, otherwise the last barrier. kNone: there is none.
  StepId streamPredecessor(StepId id) const { return stream_predecessors_[id]; }
  /// Number of steps of its stream called before it.
  uint32_t place(StepId id) const { return place_[id]; }
  /// All steps of a stream, in call order.
  const std::vector<StepId>& stepsOf(uint32_t stream) const { return steps_of_[stream]; }

  /// Calls called(id) when a thread reaches the call, and happens(id) when the step takes place;
  /// neither for steps that wait forever. Returns the number of such steps.
  template <class Called, class Happens>
  StepId forEach(Called&& called, Happens&& happens) {
    if (!program_.canStall()) {
      for (StepId id = 0; id < program_.size(); ++id) called(id), happens(id);
      return 0;
    }
    StepId stalled = 0;
    prepare();
    const auto attempt = [&](StepId id) {
      if (StepId blocker = threadBlocker(id); blocker != kNone) return waitFor(id, blocker);
      if (!called_[id]) {
        called_[id] = true;
        called(id);
      }
      if (StepId blocker = streamBlocker(id); blocker != kNone) return waitFor(id, blocker);
      happens(id);
      --stalled;
      release(id);
      if (program_.step(id).kind != StepKind::kSetUserEvent) return;
      const StepId event = program_.step(id).target;
      if (event < id && !done_[event] && program_.step(event).kind == StepKind::kUserEvent) {
        release(event);
        --stalled;
      }
    };
    for (StepId id = 0; id < program_.size(); ++id) {
      ++stalled;
      if (program_.step(id).kind != StepKind::kUserEvent) attempt(id);
      while (!ready_.empty()) {
        const StepId next = ready_.top();
        ready_.pop();
        attempt(next);
      }
    }
    return stalled;
  }

 private:
  void prepare();
  StepId threadBlocker(StepId id) const;
  StepId streamBlocker(StepId id);
  void waitFor(StepId id, StepId blocker) {
    next_waiter_[id] = first_waiter_[blocker];
    first_waiter_[blocker] = id;
  }
  void release(StepId id) {
    done_[id] = true;
    for (StepId w = first_waiter_[id]; w != kNone; w = next_waiter_[w]) ready_.push(w);
  }

  const Program& program_;
  std::vector<StepId> stream_predecessors_;
  std::vector<uint32_t> place_;
  std::vector<std::vector<StepId>> steps_of_;
  // Only where steps can stall.
  std::vector<StepId> thread_held_by_;
  std::vector<bool> done_;
  std::vector<bool> called_;
  std::vector<StepId> first_waiter_;
  std::vector<StepId> next_waiter_;
  std::vector<uint32_t> waits_done_;
  std::vector<uint32_t> stream_done_;  // number of leading steps of the stream that are done
  std::priority_queue<StepId, std::vector<StepId>, std::greater<>> ready_;
};

}  // namespace tracesmith::races
