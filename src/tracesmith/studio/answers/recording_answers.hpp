// SPDX-License-Identifier: Apache-2.0
// The answers about the recording beside a trace. Nothing of it is executed for them.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/studio/answers/request_values.hpp"
#include "tracesmith/studio/studio_trace.hpp"

namespace tracesmith::studio {

/// Whether there is a recording, and what a replay of it would execute: the process, its device,
/// its programs and kernels.
std::string recordingAnswer(const StudioTrace& of);
/// The source of a program and its build options. Values: "program", its number; "kernel": only
/// this kernel and what it uses.
Result<std::string> programAnswer(const StudioTrace& of, const QueryValues& values);
/// The races as JSON of `tracesmith races`, and where their commands are in the timeline. Value:
/// "all" (1: also possible ones).
Result<std::string> racesAnswer(const StudioTrace& of, const QueryValues& values);
/// Where a launch is in the timeline. Value: "number", from 1.
Result<std::string> launchPlaceAnswer(const StudioTrace& of, const QueryValues& values);

}  // namespace tracesmith::studio
