// SPDX-License-Identifier: Apache-2.0
// What a FleetSummary says, as tables that any output can show.
#pragma once

#include <cstddef>
#include <vector>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/fleet/fleet_summary.hpp"

namespace tracesmith {

struct FleetReportOptions {
  size_t limit = 15;         ///< rows of tables by name; 0: all
  bool short_names = false;  ///< kernels have short labels, for people (KernelLabels)
};

std::vector<ReportTable> fleetReport(const FleetSummary& summary,
                                     const FleetReportOptions& options = {});

}  // namespace tracesmith
