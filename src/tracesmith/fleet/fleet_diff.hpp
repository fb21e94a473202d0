// SPDX-License-Identifier: Apache-2.0
// Compares groups of summaries with the statistics of `diff`.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tracesmith/analysis/diff/diff_run.hpp"
#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/fleet/fleet_summary.hpp"

namespace tracesmith {

/// What a comparison of several runs needs of one of them (analysis/diff/trace_diff.hpp): kernels
/// by name, copies by direction, and the times of the devices. It has no steps and no single
/// durations, so it cannot be compared with one other run alone.
DiffRun diffRunOf(const FleetSummary& summary);

/// Compares two groups of traces, each given as its summary; neither may be empty, and one must
/// have several. `limit`: rows of tables by name; 0: all.
std::vector<ReportTable> fleetDiff(std::span<const FleetSummary> before,
                                   std::span<const FleetSummary> after, size_t limit);

}  // namespace tracesmith
