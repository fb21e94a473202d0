// SPDX-License-Identifier: Apache-2.0
// The answers about single commands of a recording.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/studio/answers/request_values.hpp"
#include "tracesmith/studio/studio_trace.hpp"

namespace tracesmith::studio {

/// The commands of the process that replays execute, in order. Values: "show" ("all", "commands":
/// what a device executes, "launches"), "q" (a part of the kind or name), "from" and "count" among
/// those.
Result<std::string> commandsAnswer(const StudioTrace& of, const QueryValues& values);
/// A command with its arguments, its program, and its place in the timeline. Value: "step".
Result<std::string> commandAnswer(const StudioTrace& of, const QueryValues& values);

}  // namespace tracesmith::studio
