// SPDX-License-Identifier: Apache-2.0
// Keeps rows of a database table as sources of trace rows (model/source_rows.hpp), in JSON:
// {"TABLE":{"column":value,…}}. Values that a column of the typed row holds are not stored twice. A
// blob is stored as {"blob":"<hexadecimal>"}, which cannot be confused with text.
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
  /// Columns of the table whose values usually equal those of the typed row; -1: none.
  struct Held {
    int start = -1;
    int end = -1;
    int correlation = -1;
    int bytes = -1;
  };
  /// Values of the typed row just pushed. Values of the table that differ are kept.
  struct Values {
    int64_t start = 0;
    int64_t end = 0;
    uint64_t correlation = 0;
    uint64_t bytes = 0;
  };

  /// `name`: name of the table without parts specific to this file (a UUID, say).
  SqliteSource(TraceBuilder& builder, const SqliteTable& table, std::string_view name, Held held);

  /// Stores the source of the row just pushed to `table`.
  void keep(TableId table, const SqliteRow& row, const Values& values);
  /// Stores a source row that has no row in the trace.
  void keepAlone(const SqliteRow& row);

 private:
  void keepAs(TableId table, const SqliteRow& row, const Values* values);
  std::optional<SourceGap> heldGap(int column, int64_t value, const Values& values) const;
  uint32_t shapeOf(const std::string& pattern);
  std::string whole(const SqliteRow& row);

  TraceBuilder& builder_;
  Held held_;
  std::vector<std::string> keys_;  // column names as JSON, without quotes
  std::string opening_;
  std::unordered_map<std::string, uint32_t> shapes_;  // by the gap letters of the columns
  std::string last_pattern_;
  uint32_t last_shape_ = 0;
  // Buffers for one row.
  std::string pattern_;
  std::vector<int64_t> kept_;
};

}  // namespace tracesmith::import
