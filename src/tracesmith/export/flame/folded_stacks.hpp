// SPDX-License-Identifier: Apache-2.0
// Writes folded stacks for flame graph tools: one line per stack, with its frames separated by
// semicolons, a space, and the stack's self time in ns.
#pragma once

#include "tracesmith/base/result.hpp"
#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/select/selection.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Host stacks are process;thread;nested ranges and calls, with the time not covered by children.
/// Device work is device;stream;[host call path;]name, with its duration. A semicolon in a name
/// becomes a comma.
void writeFoldedStacks(const Trace& trace, const Selection& selection, Output& out);

}  // namespace tracesmith
