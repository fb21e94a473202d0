// SPDX-License-Identifier: Apache-2.0
// An order in which the steps of a program could happen: that of the calls, but for steps that wait
// for a user event, or for something else that comes later, and what waits for them in turn. Of the
// steps that could be next, it is always the first that was called.
#pragma once

#include <queue>
#include <vector>

#include "tracesmith/analysis/races/race_program.hpp"

namespace tracesmith::races {

/// Linear in steps and waits; with stalled steps, times the logarithm of their number.
class LegalOrder {
 public:
  explicit LegalOrder(const Program& program);

  /// The last step of the same stream that holds this one back whatever its waits are: of an
  /// in-order stream, the one before; of another, the last barrier. kNone: there is none.
  StepId heldBackBy(StepId id) const { return held_back_by_[id]; }
  /// Steps of its stream that were called before it.
  uint32_t place(StepId id) const { return place_[id]; }
  /// All of a stream, as called.
  const std::vector<StepId>& stepsOf(uint32_t stream) const { return steps_of_[stream]; }

  /// Calls called(id) when a thread gets to make the call, and happens(id) when the step takes
  /// place; not at all for steps that wait for ever. Returns how many those are.
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
  std::vector<StepId> held_back_by_;
  std::vector<uint32_t> place_;
  std::vector<std::vector<StepId>> steps_of_;
  // Only where steps can stall.
  std::vector<StepId> thread_held_by_;
  std::vector<bool> done_;
  std::vector<bool> called_;
  std::vector<StepId> first_waiter_;
  std::vector<StepId> next_waiter_;
  std::vector<uint32_t> waits_done_;
  std::vector<uint32_t> stream_done_;  // so many first steps of the stream are done
  std::priority_queue<StepId, std::vector<StepId>, std::greater<>> ready_;
};

}  // namespace tracesmith::races
