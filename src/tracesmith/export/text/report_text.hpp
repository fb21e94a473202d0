// SPDX-License-Identifier: Apache-2.0
// Shows the tables of an analysis: for people, and as JSON (one member for each table, a list of
// objects with exact numbers in ns, bytes and shares of one; null where nothing is defined; and a
// member "notes" with what is said of tables, by their names).
#pragma once

#include <vector>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/text/terminal_table.hpp"

namespace tracesmith {

void writeReportText(const std::vector<ReportTable>& report, const TerminalStyle& style,
                     Output& out);
void writeReportJson(const std::vector<ReportTable>& report, Output& out);

}  // namespace tracesmith
