// SPDX-License-Identifier: Apache-2.0
// Writes the tables of an analysis as text, or as JSON. The JSON has one member per table: a list
// of objects with exact numbers (ns, bytes, fractions), and null for undefined values. A further
// member "notes" holds notes by table name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/text/terminal_table.hpp"

namespace tracesmith {

/// Where tables without rows go: to their place, or to a list at the end with the reasons.
enum class EmptyTables : uint8_t { kInPlace, kListed };

/// A value as people read it: "41.7 ms", "64.3 %"; long texts are cut in the middle.
std::string reportValueText(const ReportValue& value, Quantity quantity,
                            const TerminalStyle& style);

void writeReportText(const std::vector<ReportTable>& report, const TerminalStyle& style,
                     Output& out, EmptyTables empty = EmptyTables::kInPlace);
void writeReportJson(const std::vector<ReportTable>& report, Output& out);

}  // namespace tracesmith
