// SPDX-License-Identifier: Apache-2.0
// Translates the argument of --range for the recording agents.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tracesmith/base/result.hpp"

namespace tracesmith::cli {

/// Input, as typed by people:
/// - "time:1.2s-1.5s": since the session started
/// - "launch:100-200": counted from 1, both included
/// - "kernel:REGEX": POSIX extended
/// - "step:3" or "step:3-5": a step ends when the program has waited for a queue with clFinish
/// - "trigger"
///
/// Output, for the agents: "time NS NS" of CLOCK_MONOTONIC, "launch N N", "kernel REGEX", "step N
/// N", "trigger".
Result<std::string> parseRecordRange(std::string_view text, int64_t session_begin_ns);

}  // namespace tracesmith::cli
