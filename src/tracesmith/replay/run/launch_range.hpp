// SPDX-License-Identifier: Apache-2.0
// Which launches of a plan a range means.
#pragma once

#include <string_view>
#include <vector>

#include "tracesmith/replay/run/replay_run.hpp"

namespace tracesmith {

/// Of what --range says, in the form that agents have: "launch 3 5", "time NS NS" (CLOCK_MONOTONIC,
/// the begin of the calls), "kernel REGEX" (POSIX extended), "step 2 2" (a step ends when the
/// program, after a launch, has waited for a queue with clFinish). kNotFound when no launch is
/// within.
Result<std::vector<LaunchRange>> launchRanges(const ReplayPlan& plan, std::string_view range);

}  // namespace tracesmith
