// SPDX-License-Identifier: Apache-2.0
// Compares groups of summaries with the statistics of `diff`.
#pragma once

#include "tracesmith/analysis/diff/diff_run.hpp"
#include "tracesmith/fleet/fleet_summary.hpp"

namespace tracesmith {

/// What a comparison of several runs needs of one of them (analysis/diff/trace_diff.hpp): kernels
/// by name, copies by direction, and the times of the devices. It has no steps and no single
/// durations, so it cannot be compared with one other run alone.
DiffRun diffRunOf(const FleetSummary& summary);

}  // namespace tracesmith
