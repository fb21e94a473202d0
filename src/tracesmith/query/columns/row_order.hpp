// SPDX-License-Identifier: Apache-2.0
// The rows of a table sorted by one or several columns. Takes 4 bytes per row, or nothing if the
// rows are already sorted. Makes joins, ranges and grouping cheap without copying a column.
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

  /// Sorts by the first of `columns`, then by the second, and so on; the sort is stable. NULLs come
  /// first, then integers, then other values; texts are sorted by rank. Requires rows <= kMaxRows.
  /// Uses a radix sort, so time and memory depend only on the number of rows.
  static RowOrder by(std::span<const SqlColumn* const> columns, uint64_t rows);
  /// For a column that has only integers, already in ascending order.
  static RowOrder inStorageOrder(uint64_t rows);

  /// The row at position `i` of the order.
  uint64_t row(uint64_t i) const { return rows_.empty() ? i : rows_[i]; }
  /// The positions [first, last) at which `column`, the first of the order, is an integer (for
  /// texts: a rank) in [low, high]. With the largest possible `high`, also those with values above
  /// every integer.
  std::pair<uint64_t, uint64_t> range(const SqlColumn& column, int64_t low, int64_t high) const;
  /// Whether position equals row: the table already has this order.
  bool isIdentity() const { return rows_.empty(); }
  /// For an order by texts: the rank of the first column's text at position `i`, and the position
  /// where the next rank starts. {0, 0} if this is not known without examining the rows.
  std::pair<uint32_t, uint64_t> run(uint64_t i) const;

 private:
  std::vector<uint32_t> rows_;
  // By rank of the first column's text: start; its end is the next start.
  std::vector<uint32_t> starts_;
  uint64_t count_ = 0;
  uint64_t first_integer_ = 0;
  uint64_t end_integer_ = 0;
};

}  // namespace tracesmith
