// SPDX-License-Identifier: Apache-2.0
// Which memory a step reads and writes, as far as the recording tells: of a launch all that its
// arguments name, for a kernel may do with them what it likes.
#pragma once

#include <vector>

#include "tracesmith/replay/plan/replay_plan.hpp"

namespace tracesmith {

struct MemoryUse {
  ObjectIndex memory = 0;
  bool reads = false;
  bool writes = false;
};

/// Each object once, in the order of arguments. Objects as they are named: see rootOf().
std::vector<MemoryUse> memoryUse(const ReplayPlan& plan, const ReplayStep& step);

/// The memory that a sub-buffer, an image of a buffer, or an object over shared memory is a part
/// of; other objects are their own.
ObjectIndex rootOf(const ReplayPlan& plan, ObjectIndex memory);

/// For each step whether it is needed for those that `wanted` names: itself, and what may have
/// written what a needed one may read. Steps that are no commands are not asked and are kept.
std::vector<bool> stepsNeeded(const ReplayPlan& plan, const std::vector<bool>& wanted);

}  // namespace tracesmith
