// SPDX-License-Identifier: Apache-2.0
// The tables of a trace, for code that needs only some of their columns. A column is read from the
// file when it is first needed, and is then kept.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tracesmith/base/result.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/query/catalog/catalog.hpp"

namespace tracesmith {

/// Not thread-safe: one thread at a time. Other threads may read what was handed out meanwhile.
class TraceTables {
 public:
  /// The part of the trace that has been read. In event tables, columns that nobody requested are
  /// zeros whose memory is never touched.
  struct Loaded {
    Trace trace;
    std::unique_ptr<Catalog> catalog;  ///< the tables of `trace`
  };

  /// Reads the dictionaries. Errors are those of TraceReader::read().
  static Result<TraceTables> open(TraceReader reader);

  TraceTables(TraceTables&&) noexcept;
  TraceTables& operator=(TraceTables&&) noexcept;
  ~TraceTables();

  /// The part read so far. Read a column of its SqlTables only after need() for that column.
  std::shared_ptr<const Loaded> loaded() const;

  /// Reads the data for these columns of a table, unless it has been read. Usually the result is
  /// the previous loaded(). If the file turns out to be damaged, everything is read again, with
  /// only the intact rows. kNotFound: there is no such table or column.
  Result<std::shared_ptr<const Loaded>> need(std::string_view table,
                                             std::span<const std::string> columns);
  /// The same for columns of the schema (model/tables.hpp) of a table of events. Without columns:
  /// only verifies that all rows can be read.
  Result<std::shared_ptr<const Loaded>> need(TableId table,
                                             std::initializer_list<std::string_view> columns);
  /// Reads all columns of all tables, for code that walks the whole trace.
  Result<std::shared_ptr<const Loaded>> needAll();
  /// Gives memory back: columns of the schema of a table of events are zeros until they are needed
  /// again. Nobody may use them meanwhile. Keeps those that were converted to host time.
  void forget(TableId table, std::initializer_list<std::string_view> columns);
  /// Memory that needAll() would add.
  uint64_t unreadBytes() const;

  TraceReader& reader();

 private:
  struct Impl;
  explicit TraceTables(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith
