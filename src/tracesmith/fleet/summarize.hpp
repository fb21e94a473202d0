// SPDX-License-Identifier: Apache-2.0
// Computes the FleetSummary of a trace.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/fleet/fleet_summary.hpp"
#include "tracesmith/format/trace_scan.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Of a trace in memory. What only a file has (bytes, damage) is 0.
FleetSummary summarizeTrace(const Trace& trace);

/// Of a file, block by block on all cores. Memory does not grow with the events, but for 8 bytes a
/// host call. A file whose correlation ids repeat is read as a whole instead.
Result<FleetSummary> summarizeScan(TraceScan& scan);

}  // namespace tracesmith
