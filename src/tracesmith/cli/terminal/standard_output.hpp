// SPDX-License-Identifier: Apache-2.0
// Standard output for commands whose result goes there.
#pragma once

#include "tracesmith/export/output/output.hpp"

namespace tracesmith::cli {

/// A block buffer over file number 1. From then on a reader that leaves (`| head`) ends the process
/// quietly by SIGPIPE, as with other commands. Not for commands that start programs, which inherit
/// the signal's disposition.
Output standardOutput();

/// Flushes as the last step of a command: `code`, or 1 with a message when output was lost.
int finishOutput(Output& out, int code);

}  // namespace tracesmith::cli
