// SPDX-License-Identifier: Apache-2.0
// Commands that nothing orders and that use the same memory, one of them writing: what a missing
// wait looks like in a recording.
#pragma once

#include <functional>
#include <vector>

#include "tracesmith/replay/plan/step_order.hpp"

namespace tracesmith {

/// `first` comes first in the recording.
struct UnorderedPair {
  StepIndex first = kNoStep;
  StepIndex second = kNoStep;
  ObjectIndex root = 0;  ///< memory that both use
};

/// Calls f(pair) for each of them, those of earlier seconds first, and of one second the nearest
/// first. False, without a call, where there are so many commands that this would take too long:
/// time and memory grow with the square of their number.
bool forEachUnorderedPair(const ReplayPlan& plan, const StepDependencies& dependencies,
                          const std::function<void(const UnorderedPair&)>& f);

struct UnorderedPairs {
  /// At most `most`, and kMostAlike of the same two kernels and the same memory.
  std::vector<UnorderedPair> pairs;
  uint64_t left_out = 0;
  bool too_many_commands = false;  ///< none were looked for
  static constexpr uint32_t kMostAlike = 32;
};

UnorderedPairs unorderedPairs(const ReplayPlan& plan, const StepDependencies& dependencies,
                              size_t most);

}  // namespace tracesmith
