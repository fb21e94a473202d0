// SPDX-License-Identifier: Apache-2.0
// Which memory a step reads and writes, as far as the recording tells. A launch counts as reading
// and writing everything its arguments name, because the kernel may do either.
#pragma once

#include <vector>

#include "tracesmith/replay/plan/replay_plan.hpp"

namespace tracesmith {

struct MemoryUse {
  ObjectIndex memory = 0;
  bool reads = false;
  bool writes = false;
};

/// Each object once, in the order of arguments. Objects are those named in the call: see rootOf().
std::vector<MemoryUse> memoryUse(const ReplayPlan& plan, const ReplayStep& step);

/// Returns the memory that a sub-buffer, an image of a buffer, or an object over shared memory is
/// part of. Returns `memory` itself for other objects.
ObjectIndex rootOf(const ReplayPlan& plan, ObjectIndex memory);

/// For each step: whether the steps in `wanted` need it. Needed are the wanted steps themselves,
/// and every step that may have written what a needed step may read. Steps that are not commands
/// are always kept.
std::vector<bool> stepsNeeded(const ReplayPlan& plan, const std::vector<bool>& wanted);

}  // namespace tracesmith
