// SPDX-License-Identifier: Apache-2.0
// The rows of a table in the order of one column's values: 4 bytes a row, none when they lie so
// already. Makes joins, ranges and grouping cheap without copying the column.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace tracesmith {

class SqlColumn;

class RowOrder {
 public:
  static constexpr uint64_t kMaxRows = 0xffffffffu;

  /// NULLs come first, then integers, then what is no integer; equal values by row, so that the
  /// rows of one value are in ascending order. Needs rows <= kMaxRows.
  static RowOrder byValue(const SqlColumn& column, uint64_t rows);
  /// For a column that holds nothing but integers, in ascending order already.
  static RowOrder asTheyLie(uint64_t rows);
  /// By SqlColumn::rank(); equal ranks by row.
  static RowOrder byRank(const SqlColumn& column, uint64_t rows);

  /// The row at place `i` of the order.
  uint64_t row(uint64_t i) const { return rows_.empty() ? i : rows_[i]; }
  /// The places [first, last) whose value is an integer of [low, high]; with the largest possible
  /// `high` also those beyond every integer.
  std::pair<uint64_t, uint64_t> range(const SqlColumn& column, int64_t low, int64_t high) const;
  /// True when the place is the row: the table lies in this order.
  bool isIdentity() const { return rows_.empty(); }

 private:
  std::vector<uint32_t> rows_;
  uint64_t count_ = 0;
  uint64_t first_integer_ = 0;
  uint64_t end_integer_ = 0;
};

}  // namespace tracesmith
