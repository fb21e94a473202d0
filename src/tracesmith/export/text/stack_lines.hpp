// SPDX-License-Identifier: Apache-2.0
// A call stack as lines of text.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/model/frame_symbols.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// The functions of a stack, innermost first, each with its location in the source or in a module.
std::vector<std::string> stackLines(const Trace& t, const FrameSymbols& symbols, CallPathId path);

}  // namespace tracesmith
