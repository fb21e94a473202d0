// SPDX-License-Identifier: Apache-2.0
// SQL over a trace: `tracesmith query`. The language is SQLite's; the tables are the columns of the
// Trace as they lie in memory (see catalog.hpp), never copied. Reading is all a query can do.
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

/// The event that a row was imported from, as it stood in its source; none: it is not known.
using SourceOfRow = std::function<std::optional<std::string>(TableId table, uint64_t row)>;

struct QueryColumn {
  std::string name;  ///< as the query names it (AS ...)
  std::string type;  ///< INTEGER, REAL or TEXT; "" for an expression
};

/// What a query is made into, row by row, so that a large answer needs no memory.
struct QuerySink {
  /// Called once, before the first row, also when there will be none.
  std::function<void(std::span<const QueryColumn>)> columns;
  /// Called for each row; the values live until it returns. False ends the query (no failure).
  std::function<bool(std::span<const Value>)> row;
};

struct QueryOptions {
  /// Asked every few thousand steps; true ends the query with an error ("interrupted").
  std::function<bool()> cancelled;
};

/// A whole answer in memory, for tests, bindings and small questions.
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

/// An answer that is asked for row by row. The engine must outlive it and stay where it is used by
/// one thread at a time; other questions may be asked in between.
class QueryCursor {
 public:
  QueryCursor(QueryCursor&&) noexcept;
  QueryCursor& operator=(QueryCursor&&) noexcept;
  ~QueryCursor();

  const std::vector<QueryColumn>& columns() const;
  /// Goes to the next row; false at the end. Errors as those of QueryEngine::run().
  Result<bool> next();
  /// The row; its values live until next() is called again.
  std::span<const Value> row() const;

 private:
  friend class QueryEngine;
  struct Impl;
  explicit QueryCursor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// One thread at a time.
class QueryEngine {
 public:
  /// `trace` (loaded, in host time) must outlive the engine and not change. `source` answers
  /// source_json(); without it that is NULL.
  static Result<QueryEngine> open(const Trace& trace, SourceOfRow source = {});

  QueryEngine(QueryEngine&&) noexcept;
  QueryEngine& operator=(QueryEngine&&) noexcept;
  ~QueryEngine();

  /// Runs one SELECT (WITH and VALUES too). kInvalidArgument for SQL that is wrong, with the place
  /// and the nearest name; kPermission for statements other than reading; kUnsupported when
  /// cancelled. Returns the number of rows given to the sink.
  Result<uint64_t> run(std::string_view sql, const QuerySink& sink,
                       const QueryOptions& options = {});
  Result<QueryResult> run(std::string_view sql, const QueryOptions& options = {});

  /// The same, for those who ask for the rows themselves.
  Result<QueryCursor> start(std::string_view sql, const QueryOptions& options = {});

  /// Whether `sql` ends with a statement that is whole: a semicolon that stands in no text or
  /// comment.
  static bool endsStatement(const std::string& sql);

  /// The tables and columns that there are.
  const Catalog& catalog() const;

 private:
  friend class QueryCursor;
  struct Impl;
  explicit QueryEngine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith
