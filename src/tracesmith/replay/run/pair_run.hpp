// SPDX-License-Identifier: Apache-2.0
// Runs two unordered commands in both orders from the same memory, and compares the results.
#pragma once

#include "tracesmith/replay/run/replay_run.hpp"

namespace tracesmith {

/// Replays as much of the plan as needed, in recorded order. The two commands of each pair are
/// moved next to each other and run in both orders from the same memory; then the replay continues.
/// Fills `pairs` of the result with the pairs it could try; pairs whose commands had already run as
/// part of another pair need another run. A pair that differs between two runs in the same order is
/// `unsteady`: the missing order is not the reason. `progress` may be nullptr.
RunResult runPairs(const ReplayPlan& plan, Executor& executor, std::span<const UnorderedPair> pairs,
                   RunProgress* progress);

/// True if the two can be tried. Maps and unmaps cannot: they change what the host may touch, and
/// cannot be repeated.
bool canTry(const ReplayPlan& plan, const UnorderedPair& pair);

}  // namespace tracesmith
