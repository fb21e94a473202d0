// SPDX-License-Identifier: Apache-2.0
// Flame graphs of the program's call stacks: how much of something each stack asked for. (What the
// other files of these formats show are slices of threads and streams over time.)
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/select/selection.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// What the width of a frame is.
enum class StackWeight : uint8_t {
  kDeviceTime,  ///< ns that kernels, copies and fills took, below them the work's name
  kHostTime,    ///< ns that calls of the API took, below them the call's name
  kBytes,       ///< bytes that were allocated
};

/// One line for each stack, outermost frame first, with ';' between frames. Rows without a stack
/// are at "[no stack]", so that the sum is that of the trace.
void writeFoldedByStack(const Trace& trace, const Selection& selection, StackWeight weight,
                        Output& out);
/// The same as a sampled profile of speedscope.
void writeSpeedscopeByStack(const Trace& trace, const Selection& selection, StackWeight weight,
                            Output& out);

}  // namespace tracesmith
