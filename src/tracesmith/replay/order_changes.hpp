// SPDX-License-Identifier: Apache-2.0
// Which legal orders show whether commands that nothing orders depend on their order.
#pragma once

#include <vector>

#include "tracesmith/replay/step_order.hpp"

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

}  // namespace tracesmith
