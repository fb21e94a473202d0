// SPDX-License-Identifier: Apache-2.0
// Runs two replays side by side, one step of each in turn. They differ only in the content of
// uninitialised memory, so any difference between them depends on such memory.
#pragma once

#include "tracesmith/replay/run/replay_run.hpp"

namespace tracesmith {

/// Fills `uninitialised` of the result, in recorded order: launches and copies that computed with
/// uninitialised memory, and reads of it by the host. Both executors use the same device; `other`
/// fills memory with noise (ExecutorOptions), so that values copied from such memory differ too.
/// `progress` may be nullptr.
RunResult runTwins(const ReplayPlan& plan, Executor& one, Executor& other, RunProgress* progress);

}  // namespace tracesmith
