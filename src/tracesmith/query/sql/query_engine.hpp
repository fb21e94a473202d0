// SPDX-License-Identifier: Apache-2.0
// SQL over a trace, as in `tracesmith query`. The language is SQLite's. The tables are the columns
// of the Trace in memory (see catalog.hpp), not copies. Queries can only read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace.hpp"
#include "tracesmith/query/columns/value.hpp"

namespace tracesmith {

class Catalog;

/// Returns the event from which a row was imported, as text of its source; empty: unknown.
using SourceOfRow = std::function<std::optional<std::string>(TableId table, uint64_t row)>;

struct QueryColumn {
  std::string name;  ///< as named by the query (AS ...)
  std::string type;  ///< INTEGER, REAL or TEXT; "" for an expression
};

/// Receives a query's result row by row, so that a large result needs no memory.
struct QuerySink {
  /// Called once, before the first row, even if there are no rows.
  std::function<void(std::span<const QueryColumn>)> columns;
  /// Called for each row; the values live until it returns. Returning false ends the query without
  /// an error.
  std::function<bool(std::span<const Value>)> row;
};

struct QueryOptions {
  /// Called every few thousand steps; returning true ends the query with an error ("interrupted").
  std::function<bool()> cancelled;
};

/// A whole result in memory, for tests, bindings and small queries.
struct QueryResult {
  struct Cell {
    ValueType type = ValueType::kNull;
    int64_t integer = 0;
    double real = 0;
    std::string text;
    bool isNull() const { return type == ValueType::kNull; }
  };
  std::vector<QueryColumn> columns;
  std::vector<std::vector<Cell>> rows;
};

/// A result that is fetched row by row. The engine must outlive it and must not be moved. One
/// thread at a time uses the engine and its cursors; other queries may run in between.
class QueryCursor {
 public:
  QueryCursor(QueryCursor&&) noexcept;
  QueryCursor& operator=(QueryCursor&&) noexcept;
  ~QueryCursor();

  const std::vector<QueryColumn>& columns() const;
  /// Moves to the next row; false at the end. Errors are those of QueryEngine::run().
  Result<bool> next();
  /// The current row; its values live until next() is called again.
  std::span<const Value> row() const;

 private:
  friend class QueryEngine;
  struct Impl;
  explicit QueryCursor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Not thread-safe: one thread at a time.
class QueryEngine {
 public:
  /// `trace` (loaded, in host time) must outlive the engine and must not change. `source` provides
  /// the results of source_json(); without it they are NULL.
  static Result<QueryEngine> open(const Trace& trace, SourceOfRow source = {});

  QueryEngine(QueryEngine&&) noexcept;
  QueryEngine& operator=(QueryEngine&&) noexcept;
  ~QueryEngine();

  /// Runs one SELECT (also WITH and VALUES). Returns the number of rows passed to the sink. Errors:
  /// - kInvalidArgument: wrong SQL; the message has the place and the nearest name.
  /// - kPermission: a statement that does more than read.
  /// - kUnsupported: cancelled.
  Result<uint64_t> run(std::string_view sql, const QuerySink& sink,
                       const QueryOptions& options = {});
  Result<QueryResult> run(std::string_view sql, const QueryOptions& options = {});

  /// Starts a query whose rows the caller fetches.
  Result<QueryCursor> start(std::string_view sql, const QueryOptions& options = {});

  /// Whether `sql` ends with a complete statement: one with a semicolon that is not inside a string
  /// or comment.
  static bool endsStatement(const std::string& sql);

  /// The available tables and columns.
  const Catalog& catalog() const;
  /// Names of the functions that queries may call, sorted.
  std::vector<std::string> functions() const;

 private:
  friend class QueryCursor;
  struct Impl;
  explicit QueryEngine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Limits the memory of all queries of this process together. A query that needs more fails.
void limitQueryMemory(uint64_t bytes);

}  // namespace tracesmith
