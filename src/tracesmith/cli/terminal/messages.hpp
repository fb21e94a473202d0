// SPDX-License-Identifier: Apache-2.0
// Messages to people on standard error, and the exit codes of failures.
#pragma once

#include <string>
#include <string_view>

#include "tracesmith/base/result.hpp"

namespace tracesmith::cli {

/// Prints "tracesmith: TEXT" with one write(2), so that lines of several processes do not mix.
/// Control characters in TEXT (it may contain arbitrary file names) are printed as \xNN.
void say(std::string_view text);
void sayError(const Error& error);
void sayWarning(std::string_view text);

/// `text` with control characters replaced by \xNN.
std::string printable(std::string_view text);

/// Exit code of a failure that produced no result.
int exitCodeFor(const Error& error);

/// Prints `error` and returns its exit code.
int failWith(const Error& error);

}  // namespace tracesmith::cli
