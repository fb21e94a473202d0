// SPDX-License-Identifier: Apache-2.0
// Two replays beside each other, one step of each in turn, that differ in one thing only: what
// memory holds before anybody has written it. What then differs depends on such memory.
#pragma once

#include "tracesmith/replay/run/replay_run.hpp"

namespace tracesmith {

/// Fills `uninitialised` of the result, in the order of the recording: launches and copies that
/// computed with it, and reads of it by the host. The executors are of one device; `other` fills
/// memory with noise (ExecutorOptions), so that what is copied from elsewhere shows.
/// `progress` may be nullptr.
RunResult runTwins(const ReplayPlan& plan, Executor& one, Executor& other, RunProgress* progress);

}  // namespace tracesmith
