// SPDX-License-Identifier: Apache-2.0
// The rows of a table in the order of one or several columns' values: 4 bytes a row, none when they
// lie so already. Makes joins, ranges and grouping cheap without copying a column.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tracesmith {

class SqlColumn;

class RowOrder {
 public:
  static constexpr uint64_t kMaxRows = 0xffffffffu;

  /// By the first of `columns`, where that is equal by the second, and so on; equal rows in their
  /// own order. NULLs come first, then integers, then what is no integer; texts by their rank.
  /// Needs rows <= kMaxRows. Time and memory grow with the rows alone (a radix sort).
  static RowOrder by(std::span<const SqlColumn* const> columns, uint64_t rows);
  /// For a column that holds nothing but integers, in ascending order already.
  static RowOrder asTheyLie(uint64_t rows);

  /// The row at place `i` of the order.
  uint64_t row(uint64_t i) const { return rows_.empty() ? i : rows_[i]; }
  /// The places [first, last) at which `column`, the first of the order, is an integer of [low,
  /// high] (for texts: has such a rank); with the largest possible `high` also those beyond every
  /// integer.
  std::pair<uint64_t, uint64_t> range(const SqlColumn& column, int64_t low, int64_t high) const;
  /// True when the place is the row: the table lies in this order.
  bool isIdentity() const { return rows_.empty(); }
  /// Of an order by texts: the rank of the first column's text at place `i`, and where that of the
  /// next begins. {0, 0} where only the rows themselves tell.
  std::pair<uint32_t, uint64_t> run(uint64_t i) const;

 private:
  std::vector<uint32_t> rows_;
  std::vector<uint32_t> starts_;  // by rank of the first column's text; its end is the next one's
  uint64_t count_ = 0;
  uint64_t first_integer_ = 0;
  uint64_t end_integer_ = 0;
};

}  // namespace tracesmith
