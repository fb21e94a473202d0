// SPDX-License-Identifier: Apache-2.0
// Runs two commands that nothing orders the one way and the other, from the same memory: whether
// anything comes out otherwise.
#pragma once

#include "tracesmith/replay/run/replay_run.hpp"

namespace tracesmith {

/// Replays as much of the plan as it takes, in the recorded order, but brings the two commands of
/// each pair beside each other; runs them in both orders from the same memory, and goes on. Fills
/// `pairs` of the result with those that it could try; those whose commands had already run for
/// another's sake are for another run. A pair that comes out differently in the same order twice is
/// `unsteady`: that is not for want of order. `progress` may be nullptr.
RunResult runPairs(const ReplayPlan& plan, Executor& executor, std::span<const UnorderedPair> pairs,
                   RunProgress* progress);

/// Whether the two can be tried: maps and unmaps change what the host may touch, and cannot be
/// repeated.
bool canTry(const ReplayPlan& plan, const UnorderedPair& pair);

}  // namespace tracesmith
