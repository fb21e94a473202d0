// SPDX-License-Identifier: Apache-2.0
// Any table of a trace as CSV (RFC 4180 with a header line, lines ending in LF alone) or as a JSON
// array of objects, straight from the schema. Texts and enums are written out, ids of 0 are empty
// (null), and the numbers that people know things by (pid, tid, device) are added at the end of
// tables that refer to them.
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

/// Names of all tables, as in SQL ("kernel", "host_call", ...), in the order of the schema.
std::vector<std::string_view> tableNames();
/// kNotFound, with the names there are, when `name` is none of them.
Result<TableId> tableByName(std::string_view name);
/// Tables of events that have rows, in the order of the schema.
std::vector<TableId> eventTables(const Trace& trace);

/// Rows of one table. Event rows outside `selection` are left out when one is given.
/// kNotFound for a table that is not in the schema.
Status writeTable(const Trace& trace, TableId table, TextFormat format, Output& out,
                  const Selection* selection = nullptr);

/// One JSON object with an array per table: {"kernel":[...],"copy":[...]}.
Status writeTablesJson(const Trace& trace, const std::vector<TableId>& tables, Output& out,
                       const Selection* selection = nullptr);

/// writeTable into a file, whole or not at all ("-": standard output).
Status exportTable(const Trace& trace, TableId table, TextFormat format, const std::string& path,
                   const Selection* selection = nullptr);

/// Appends one CSV field, quoted where RFC 4180 asks for it.
void appendCsvField(std::string& out, std::string_view text);

}  // namespace tracesmith
