// SPDX-License-Identifier: Apache-2.0
// Profiles for https://www.speedscope.app: one per thread and one per stream, and one more for each
// further lane on which work of theirs overlaps.
#pragma once

#include "tracesmith/base/result.hpp"
#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/select/selection.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Times count in ns from the trace's first event: as numbers of JavaScript they are exact so.
void writeSpeedscope(const Trace& trace, const Selection& selection, Output& out);

}  // namespace tracesmith
