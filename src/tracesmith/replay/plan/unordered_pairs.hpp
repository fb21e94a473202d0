// SPDX-License-Identifier: Apache-2.0
// Finds pairs of unordered commands that use the same memory, one of them writing. A missing wait
// appears in a recording as such a pair.
#pragma once

#include <functional>
#include <vector>

#include "tracesmith/replay/plan/step_order.hpp"

namespace tracesmith {

/// `first` precedes `second` in the recording.
struct UnorderedPair {
  StepIndex first = kNoStep;
  StepIndex second = kNoStep;
  ObjectIndex root = 0;  ///< memory used by both
};

/// Calls f(pair) for each pair, in order of the second command; for the same second command the
/// nearest first. Returns false without any call if there are too many commands: time and memory
/// grow with the square of their number.
bool forEachUnorderedPair(const ReplayPlan& plan, const StepDependencies& dependencies,
                          const std::function<void(const UnorderedPair&)>& f);

struct UnorderedPairs {
  /// At most `most` pairs, and at most kMostAlike with the same two kernels and the same memory.
  std::vector<UnorderedPair> pairs;
  uint64_t left_out = 0;
  bool too_many_commands = false;  ///< no search took place
  static constexpr uint32_t kMostAlike = 32;
};

UnorderedPairs unorderedPairs(const ReplayPlan& plan, const StepDependencies& dependencies,
                              size_t most);

}  // namespace tracesmith
