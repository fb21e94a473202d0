// SPDX-License-Identifier: Apache-2.0
// Findings as tables, for JSON and other outputs of programs.
#pragma once

#include <vector>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/findings/finding.hpp"

namespace tracesmith {

/// Tables "verdict" (one row), "findings" (one row each, the most important first) and
/// "not_checked".
std::vector<ReportTable> findingsReport(const Findings& findings);

}  // namespace tracesmith
