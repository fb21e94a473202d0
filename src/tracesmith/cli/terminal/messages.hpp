// SPDX-License-Identifier: Apache-2.0
// Lines for people on standard error, and the exit code that goes with a failure.
#pragma once

#include <string>
#include <string_view>

#include "tracesmith/base/result.hpp"

namespace tracesmith::cli {

/// "tracesmith: TEXT" as one write(2), so that lines of several processes do not mix. Control
/// characters in TEXT (file names are anyone's) are shown as \xNN.
void say(std::string_view text);
void sayError(const Error& error);
void sayWarning(std::string_view text);

/// `text` with control characters shown as \xNN.
std::string printable(std::string_view text);

/// Exit code of a failure that left nothing to show.
int exitCodeFor(const Error& error);

/// Says `error` and returns its exit code.
int failWith(const Error& error);

}  // namespace tracesmith::cli
