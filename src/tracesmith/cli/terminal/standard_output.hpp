// SPDX-License-Identifier: Apache-2.0
// Standard output, for commands that write their result to it.
#pragma once

#include "tracesmith/export/output/output.hpp"

namespace tracesmith::cli {

/// A buffer for file descriptor 1. Once this is called, a reader that closes the pipe (`| head`)
/// ends the process quietly by SIGPIPE, as with other commands. Do not use it in commands that
/// start programs, which inherit the signal's disposition.
Output standardOutput();

/// Flushes, as the last step of a command. Returns `code`, or 1 with a message if output was lost.
int finishOutput(Output& out, int code);

}  // namespace tracesmith::cli
