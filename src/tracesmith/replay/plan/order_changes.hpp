// SPDX-License-Identifier: Apache-2.0
// Chooses legal orders that show whether unordered commands depend on their order.
#pragma once

#include <optional>
#include <vector>

#include "tracesmith/replay/plan/step_order.hpp"

namespace tracesmith {

struct OrderChanges {
  /// Arguments for lateLegalOrder(). Together they reverse every pair of unordered commands that
  /// use the same memory, one of them writing, as far as the recording tells.
  std::vector<std::vector<StepIndex>> late;
  size_t left_out = 0;  ///< commands dropped because of the limit `most`
};

/// Returns one order for each in-order queue, and for each command of an out-of-order queue, that
/// has an unordered partner. Those whose partner comes first in the recording come first. Returns
/// at most `most`.
OrderChanges orderChanges(const ReplayPlan& plan, const StepDependencies& dependencies,
                          size_t most);

struct ReversedOrder {
  std::vector<StepIndex> order;  ///< all steps that move
  /// The first `settled` entries hold the same steps as that part of the recorded order, reordered.
  /// Nothing after them moved.
  uint32_t settled = 0;
  uint32_t moved_along = 0;  ///< other steps that had to move together with the command
};

/// Returns the recorded order with two commands reversed and little else changed. Either `earlier`
/// moves behind `later`, or `later` moves in front of `earlier`, together with the steps between
/// them that must stay with it; the choice is whichever moves fewer steps. Returns none if
/// something orders the two. `earlier` must precede `later` in the recording.
std::optional<ReversedOrder> reverseCommands(const ReplayPlan& plan,
                                             const StepDependencies& dependencies,
                                             StepIndex earlier, StepIndex later);

}  // namespace tracesmith
