// SPDX-License-Identifier: Apache-2.0
// Keeps the rows of a database's table as the sources of rows of a trace (model/source_rows.hpp),
// as JSON: {"TABLE":{"column":value,…}}. What a column of the typed row holds is not kept twice. A
// blob is {"blob":"<hexadecimal>"}, which no text can be taken for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracesmith/import/common/trace_builder.hpp"
#include "tracesmith/import/sqlite/sqlite_file.hpp"

namespace tracesmith::import {

class SqliteSource {
 public:
  /// Columns of the table whose values are, mostly, those of the typed row; -1: none.
  struct Held {
    int start = -1;
    int end = -1;
    int correlation = -1;
    int bytes = -1;
  };
  /// What the typed row just pushed says; values of the table that differ are kept.
  struct Values {
    int64_t start = 0;
    int64_t end = 0;
    uint64_t correlation = 0;
    uint64_t bytes = 0;
  };

  /// `name`: that of the table, without what is peculiar to the file.
  SqliteSource(TraceBuilder& builder, const SqliteTable& table, std::string_view name, Held held);

  /// The source of the row of `table` that was just pushed.
  void keep(TableId table, const SqliteRow& row, const Values& values);
  /// That of a row that is none of the trace's.
  void keepAlone(const SqliteRow& row);

 private:
  void keepAs(TableId table, const SqliteRow& row, const Values* values);
  std::optional<SourceGap> heldGap(int column, int64_t value, const Values& values) const;
  uint32_t shapeOf(const std::string& pattern);
  std::string whole(const SqliteRow& row);

  TraceBuilder& builder_;
  Held held_;
  std::vector<std::string> keys_;  // of the columns, as JSON without quotes
  std::string opening_;
  std::unordered_map<std::string, uint32_t> shapes_;  // by the letters of the columns
  std::string last_pattern_;
  uint32_t last_shape_ = 0;
  // Room for one row.
  std::string pattern_;
  std::vector<int64_t> kept_;
};

}  // namespace tracesmith::import
