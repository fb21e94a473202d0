// SPDX-License-Identifier: Apache-2.0
// Writes any table of a trace, based on the schema: as CSV (RFC 4180 with a header line; lines end
// in LF) or as a JSON array of objects. String ids and enums are written as text, and ids of 0 as
// empty (null). Tables that refer to processes, threads or devices get extra columns at the end
// with their numbers (pid, tid, device).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/select/selection.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

enum class TextFormat { kCsv, kJson };

/// Names of all tables, as in SQL ("kernel", "host_call", ...), in schema order.
std::vector<std::string_view> tableNames();
/// kNotFound, with the list of valid names, if there is no such table.
Result<TableId> tableByName(std::string_view name);
/// Event tables that have rows, in schema order.
std::vector<TableId> eventTables(const Trace& trace);

/// Writes the rows of one table. If `selection` is given, leaves out event rows outside it.
/// kNotFound for a table that is not in the schema.
Status writeTable(const Trace& trace, TableId table, TextFormat format, Output& out,
                  const Selection* selection = nullptr);

/// Writes one JSON object with an array per table: {"kernel":[...],"copy":[...]}.
Status writeTablesJson(const Trace& trace, const std::vector<TableId>& tables, Output& out,
                       const Selection* selection = nullptr);

/// writeTable() to a file, completely or not at all ("-": standard output).
Status exportTable(const Trace& trace, TableId table, TextFormat format, const std::string& path,
                   const Selection* selection = nullptr);

/// Appends one CSV field, quoted if RFC 4180 requires it.
void appendCsvField(std::string& out, std::string_view text);

}  // namespace tracesmith
