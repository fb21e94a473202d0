// SPDX-License-Identifier: Apache-2.0
// Writes tables of an analysis as Markdown, for issues, wikis and reviews.
#pragma once

#include <vector>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/export/output/output.hpp"
#include "tracesmith/findings/finding.hpp"

namespace tracesmith {

/// Each finding with its cause, advice and gain.
void writeFindingsMarkdown(const Findings& findings, Output& out);
/// A heading and a table each; tables without rows are left out.
void writeReportMarkdown(const std::vector<ReportTable>& report, Output& out);

}  // namespace tracesmith
