// SPDX-License-Identifier: Apache-2.0
// Prints a query's result row by row, in one of several formats.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/text/terminal_table.hpp"
#include "tracesmith/query/sql/query_engine.hpp"

namespace tracesmith::cli {

enum class QueryFormat : uint8_t {
  kTable,  ///< aligned columns
  kLine,   ///< each value on a line of its own, for rows that are wider than the terminal
  kCsv,
  kJson,
  kMarkdown,
};

class QueryOutput {
 public:
  virtual ~QueryOutput() = default;
  virtual void columns(std::span<const QueryColumn> columns) = 0;
  virtual void row(std::span<const Value> values) = 0;
  virtual void end() = 0;
};

/// `out` must outlive the result. A table is aligned for some thousand rows at a time, so that a
/// long result appears early and does not fill the memory.
std::unique_ptr<QueryOutput> makeQueryOutput(QueryFormat format, const TerminalStyle& style,
                                             Output& out);

}  // namespace tracesmith::cli
