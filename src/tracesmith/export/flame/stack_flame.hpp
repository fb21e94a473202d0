// SPDX-License-Identifier: Apache-2.0
// Writes flame graphs of the program's call stacks, weighted by what each stack requested. (The
// other files for these formats show slices of threads and streams over time.)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/export/flame/svg_flame.hpp"
#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/select/selection.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// The quantity shown as the width of a frame.
enum class StackWeight : uint8_t {
  kDeviceTime,  ///< ns of kernels, copies and fills; the innermost frame is the work's name
  kHostTime,    ///< ns of API calls; the innermost frame is the call's name
  kBytes,       ///< bytes allocated
  kLaunches,    ///< kernels, copies and fills, each of weight 1
  kCpuTime,     ///< ns of processors, by samples; the outermost frame is the thread's name
  kWaitTime,    ///< ns in which threads did not run; the same, and the innermost one says why
};

/// Which way round a flame graph is.
struct FlameView {
  bool reversed = false;   ///< the innermost frame first
  std::string callers_of;  ///< only stacks with this frame: from it to its callers; "": all
};

/// Writes one line per stack, outermost frame first, frames separated by ';'. Rows without a stack
/// count under "[no stack]", so that the sum equals that of the trace. In a
/// trace without call stacks, device time has the host ranges and Python functions around each
/// launch instead (analysis/operators/operator_tree.hpp).
void writeFoldedByStack(const Trace& trace, const Selection& selection, StackWeight weight,
                        Output& out);
/// Writes the same as a sampled profile for speedscope.
void writeSpeedscopeByStack(const Trace& trace, const Selection& selection, StackWeight weight,
                            Output& out);

/// The tree of these stacks.
FlameTree flameTreeByStack(const Trace& trace, const Selection& selection, StackWeight weight,
                           const FlameView& view = {});

/// Writes the same as an interactive SVG (svg_flame.hpp).
void writeSvgByStack(const Trace& trace, const Selection& selection, StackWeight weight,
                     Output& out);

}  // namespace tracesmith
