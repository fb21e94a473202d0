// SPDX-License-Identifier: Apache-2.0
// Writes profiles for https://www.speedscope.app: one per thread and stream, and one for each
// additional lane with overlapping work.
#pragma once

#include "tracesmith/base/result.hpp"
#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/select/selection.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Times are in ns since the trace's first event, so that JavaScript numbers represent them
/// exactly.
void writeSpeedscope(const Trace& trace, const Selection& selection, Output& out);

}  // namespace tracesmith
