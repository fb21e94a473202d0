// SPDX-License-Identifier: Apache-2.0
// A trace open for reading, as the language bindings use it: columns, SQL, analyses and exports.
// Each of them reads only the columns it needs.
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

/// Not thread-safe: one thread at a time. Do not move it after engine() was called.
class OpenTrace {
 public:
  using Loaded = std::shared_ptr<const TraceTables::Loaded>;

  /// Opens an .sbt file, or imports another tool's trace.
  static Result<OpenTrace> open(const std::string& path);

  OpenTrace(OpenTrace&&) noexcept = default;
  OpenTrace& operator=(OpenTrace&&) noexcept = delete;
  ~OpenTrace();

  TraceTables& tables() { return tables_; }
  /// Fails with kNotFound, as the next two do, if there is no such table or column.
  Result<uint64_t> rows(std::string_view table);
  Result<ColumnArray> column(std::string_view table, const std::string& name);
  /// Exports columns as one batch; see startArrowTable().
  Status arrow(std::string_view table, std::span<const std::string> columns, ArrowArrayStream* out);
  /// The SQL engine; lives as long as this object. The first call reads the whole trace.
  Result<QueryEngine*> engine();

 private:
  explicit OpenTrace(TraceTables tables) : tables_(std::move(tables)) {}

  TraceTables tables_;
  Loaded asked_;  // kept alive for sources_ and engine_
  std::unique_ptr<SourceLookup> sources_;
  std::unique_ptr<QueryEngine> engine_;
};

}  // namespace tracesmith
