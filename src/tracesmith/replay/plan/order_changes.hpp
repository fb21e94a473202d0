// SPDX-License-Identifier: Apache-2.0
// Which legal orders show whether commands that nothing orders depend on their order.
#pragma once

#include <optional>
#include <vector>

#include "tracesmith/replay/plan/step_order.hpp"

namespace tracesmith {

struct OrderChanges {
  /// For lateLegalOrder(). Together they turn around each two commands that nothing orders and that
  /// use the same memory, one of them writing, as far as the recording tells.
  std::vector<std::vector<StepIndex>> late;
  size_t left_out = 0;  ///< commands for which `most` left no room
};

/// One for each in-order queue, and one for each command of queues without an order, that has such
/// a partner: those whose partner comes first in the recording first, at most `most`.
OrderChanges orderChanges(const ReplayPlan& plan, const StepDependencies& dependencies,
                          size_t most);

struct TurnedOrder {
  std::vector<StepIndex> order;  ///< of all steps that move
  /// The first so many are the same steps as in the recorded order; nothing after them moved.
  uint32_t settled = 0;
  uint32_t moved_along = 0;  ///< other steps that had to go with the one that was moved
};

/// The recorded order with two commands the other way round and little else: the one goes to the
/// other's far side with what lies between and has to stay with it, whichever of the two has less
/// of that. None: something orders them. `earlier` comes before `later` in the recording.
std::optional<TurnedOrder> turnedRound(const ReplayPlan& plan, const StepDependencies& dependencies,
                                       StepIndex earlier, StepIndex later);

}  // namespace tracesmith
