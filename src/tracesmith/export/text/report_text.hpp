// SPDX-License-Identifier: Apache-2.0
// Writes the tables of an analysis as text, or as JSON. The JSON has one member per table: a list
// of objects with exact numbers (ns, bytes, fractions), and null for undefined values. A further
// member "notes" holds notes by table name.
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
