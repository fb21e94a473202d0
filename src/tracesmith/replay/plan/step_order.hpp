// SPDX-License-Identifier: Apache-2.0
// Which step has to wait for which, and the orders that respect it.
//
// Exact where the recording says so: the order of an in-order queue, barriers, wait lists, events
// that the program sets itself, what the host waited for before it went on. Host calls of different
// threads are taken to have come in the order in which they were recorded, so that an order that is
// called legal is legal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tracesmith/replay/plan/replay_plan.hpp"

namespace tracesmith {

/// True for what a device does, or a queue: the steps that other orders move. The others make
/// things ready and come first.
bool isCommand(const ReplayStep& step);
/// True for calls and commands after which the host knows that others are over.
bool hostWaits(const ReplayStep& step);
/// True for what puts back into memory what the recording found there: the begin of a range, or
/// what the host left in shared memory.
bool restores(const ReplayStep& step);
/// What other orders move: commands, calls that wait, what restores memory, and what says when the
/// host went on: the Done of a call that waited, the setting of an event.
bool moves(const ReplayPlan& plan, StepIndex step);

/// Of what moves, what is to be executed where each command is over when the next begins: there is
/// nothing to wait for.
bool isExecutedAlone(const ReplayStep& step);

/// Of a queue whose commands wait only for what they are told to wait for.
bool isOutOfOrder(const ReplayPlan& plan, ObjectIndex queue);

class StepDependencies {
 public:
  /// Linear in the number of steps and waits.
  static StepDependencies of(const ReplayPlan& plan);

  /// Steps that have to be over before `step` begins, of those that move. Mostly earlier ones, but
  /// the event that a command waits for may be set by a call that comes later. In a recording that
  /// is damaged they may go round in a circle.
  std::span<const StepIndex> before(StepIndex step) const {
    return std::span(list_).subspan(first_[step], first_[step + 1] - first_[step]);
  }
  size_t edges() const { return list_.size(); }

 private:
  std::vector<uint32_t> first_;
  std::vector<StepIndex> list_;
};

/// The steps that move, in an order that respects `dependencies`, drawn at random: the same seed
/// gives the same order on every machine. What is in a circle comes last, as recorded; so below.
std::vector<StepIndex> randomLegalOrder(const ReplayPlan& plan,
                                        const StepDependencies& dependencies, uint64_t seed);

/// The same, as recorded as far as that is legal, but `late` after all that need not come after one
/// of them. Whatever is not ordered with a step of `late`, and comes after it in the recording,
/// comes before it; so with all of an in-order queue at once.
std::vector<StepIndex> lateLegalOrder(const ReplayPlan& plan, const StepDependencies& dependencies,
                                      std::span<const StepIndex> late);

/// All steps before `end`, as recorded; what one of them needs that was recorded later comes
/// directly before it. So one command after the other is in a legal order.
std::vector<StepIndex> serialOrder(const ReplayPlan& plan, StepIndex end);

/// The same for one thread that makes the calls of all of the program's, and lets commands wait for
/// each other: later steps come earlier only where the thread would wait for them for ever, at a
/// call that waits, at the end, and at `stops`, before which all has to be over.
std::vector<StepIndex> callOrder(const ReplayPlan& plan, StepIndex end,
                                 const std::vector<StepIndex>& stops);

}  // namespace tracesmith
