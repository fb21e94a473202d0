// SPDX-License-Identifier: Apache-2.0
// The tables of a trace for those who want a few of their columns: each is read from the file when
// it is first asked for, and stays.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tracesmith/base/result.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/query/catalog/catalog.hpp"

namespace tracesmith {

/// One thread at a time. What was handed out may be read by others meanwhile.
class TraceTables {
 public:
  /// What of the trace is there by now. Of tables of events the columns that were not asked for are
  /// zeros; their memory is never touched.
  struct Loaded {
    Trace trace;
    std::unique_ptr<Catalog> catalog;  ///< of `trace`
  };

  /// Reads the dictionaries. Errors as those of TraceReader::read().
  static Result<TraceTables> open(TraceReader reader);

  TraceTables(TraceTables&&) noexcept;
  TraceTables& operator=(TraceTables&&) noexcept;
  ~TraceTables();

  /// Columns of SqlTables of it are to be read after need() alone.
  std::shared_ptr<const Loaded> loaded() const;

  /// Reads what the columns of a table are made of, where it is not there yet. As a rule the answer
  /// is loaded() as it was; where the file turns out to be damaged all of it is read anew, with the
  /// rows that are left. kNotFound: there is no such table or column.
  Result<std::shared_ptr<const Loaded>> need(std::string_view table,
                                             std::span<const std::string> columns);
  /// All of them, for those who walk the whole trace.
  Result<std::shared_ptr<const Loaded>> needAll();

  TraceReader& reader();

 private:
  struct Impl;
  explicit TraceTables(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith
