// SPDX-License-Identifier: Apache-2.0
// Folded stacks, as flame graph programs read them: a line per stack, its frames with semicolons
// between them, a blank and the stack's own time in ns.
#pragma once

#include "tracesmith/base/result.hpp"
#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/select/selection.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Host stacks are process;thread;ranges and calls as they nest, with the time in which none of
/// their children ran. Device work is device;stream;[host call path;]name, with its duration. A
/// semicolon in a name becomes a comma.
void writeFoldedStacks(const Trace& trace, const Selection& selection, Output& out);

}  // namespace tracesmith
