// SPDX-License-Identifier: Apache-2.0
// Stragglers as tables.
#pragma once

#include <vector>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/analysis/stragglers/stragglers.hpp"

namespace tracesmith {

/// `stragglers`: a row for each. `job_time`: what the job's length consists of, by rank.
std::vector<ReportTable> stragglerReport(const StragglerReport& report);

}  // namespace tracesmith
