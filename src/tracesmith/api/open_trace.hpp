// SPDX-License-Identifier: Apache-2.0
// A trace that is open for reading, as libraries hand it out: columns, questions, analyses,
// exports, each reading what it needs.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tracesmith/base/result.hpp"
#include "tracesmith/export/chrome/source_json.hpp"
#include "tracesmith/query/arrow/arrow_abi.hpp"
#include "tracesmith/query/catalog/column_array.hpp"
#include "tracesmith/query/catalog/trace_tables.hpp"
#include "tracesmith/query/sql/query_engine.hpp"

namespace tracesmith {

/// One thread at a time. Stays where it is once engine() was called.
class OpenTrace {
 public:
  using Loaded = std::shared_ptr<const TraceTables::Loaded>;

  /// Ours, or another tool's, which is imported.
  static Result<OpenTrace> open(const std::string& path);

  OpenTrace(OpenTrace&&) noexcept = default;
  OpenTrace& operator=(OpenTrace&&) noexcept = delete;
  ~OpenTrace();

  TraceTables& tables() { return tables_; }
  /// kNotFound, here and below: there is no such table or column.
  Result<uint64_t> rows(std::string_view table);
  Result<ColumnArray> column(std::string_view table, const std::string& name);
  /// Columns as one batch; see startArrowTable().
  Status arrow(std::string_view table, std::span<const std::string> columns, ArrowArrayStream* out);
  /// To be asked; lives as long as this. Reads all of the trace.
  Result<QueryEngine*> engine();

 private:
  explicit OpenTrace(TraceTables tables) : tables_(std::move(tables)) {}

  TraceTables tables_;
  Loaded asked_;  // what the two below refer to
  std::unique_ptr<SourceLookup> sources_;
  std::unique_ptr<QueryEngine> engine_;
};

}  // namespace tracesmith
