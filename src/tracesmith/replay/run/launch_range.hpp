// SPDX-License-Identifier: Apache-2.0
// Translates --range into launches of a plan.
#pragma once

#include <string_view>
#include <vector>

#include "tracesmith/replay/run/replay_run.hpp"

namespace tracesmith {

/// `range` uses the agents' form: "launch 3 5", "time NS NS" (CLOCK_MONOTONIC, start times of
/// calls), "kernel REGEX" (POSIX extended), "step 2 2". A step ends when the program has waited for
/// a queue with clFinish after a launch. kNotFound if the range contains no launch.
Result<std::vector<LaunchRange>> launchRanges(const ReplayPlan& plan, std::string_view range);

}  // namespace tracesmith
