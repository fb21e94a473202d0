// SPDX-License-Identifier: Apache-2.0
// Which step has to wait for which, and the orders that respect it.
//
// Exact where the recording says so: the order of an in-order queue, barriers, wait lists, what the
// host waited for before it went on. Host calls of different threads are taken to have come in the
// order in which they were recorded, so that an order that is called legal is legal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tracesmith/replay/replay_plan.hpp"

namespace tracesmith {

/// True for what a device does, or a queue: the steps that other orders move. The others make
/// things ready and come first.
bool isCommand(const ReplayStep& step);
/// True for calls and commands after which the host knows that others are over.
bool hostWaits(const ReplayStep& step);

/// What other orders move.
inline bool moves(const ReplayStep& step) { return isCommand(step) || hostWaits(step); }

/// Of a queue whose commands wait only for what they are told to wait for.
bool isOutOfOrder(const ReplayPlan& plan, ObjectIndex queue);

class StepDependencies {
 public:
  /// Linear in the number of steps and waits.
  static StepDependencies of(const ReplayPlan& plan);

  /// Steps that have to be over before `step` begins: commands, and calls that wait.
  std::span<const StepIndex> before(StepIndex step) const {
    return std::span(list_).subspan(first_[step], first_[step + 1] - first_[step]);
  }
  size_t edges() const { return list_.size(); }

 private:
  std::vector<uint32_t> first_;
  std::vector<StepIndex> list_;
};

/// The steps that move (isCommand() or hostWaits()), in an order that respects `dependencies`,
/// drawn at random: the same seed gives the same order on every machine.
std::vector<StepIndex> randomLegalOrder(const ReplayPlan& plan,
                                        const StepDependencies& dependencies, uint64_t seed);

/// The same, as recorded, but `late` after all that need not come after one of them. Whatever is
/// not ordered with a step of `late`, and comes after it in the recording, comes before it; so with
/// all of an in-order queue at once.
std::vector<StepIndex> lateLegalOrder(const ReplayPlan& plan, const StepDependencies& dependencies,
                                      std::span<const StepIndex> late);

}  // namespace tracesmith
