// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/row_order.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "tracesmith/query/sql_table.hpp"

namespace tracesmith {
namespace {

struct Keyed {
  int64_t key;
  uint32_t row;
  uint8_t rank;  // 0: NULL, 1: integer, 2: other; the order in which SQL sorts them
};

uint8_t rankOf(const Value& value) {
  if (value.isNull()) return 0;
  return value.type == ValueType::kInteger ? 1 : 2;
}

bool before(const Keyed& a, const Keyed& b) {
  return std::tie(a.rank, a.key, a.row) < std::tie(b.rank, b.key, b.row);
}

}  // namespace

RowOrder RowOrder::byValue(const SqlColumn& column, uint64_t rows) {
  std::vector<Keyed> keyed(rows);
  RowOrder order;
  order.count_ = rows;
  for (uint64_t i = 0; i < rows; ++i) {
    const Value value = column.at(i);
    keyed[i] = {value.integer, static_cast<uint32_t>(i), rankOf(value)};
    order.first_integer_ += keyed[i].rank == 0 ? 1 : 0;
    order.end_integer_ += keyed[i].rank <= 1 ? 1 : 0;
  }
  if (std::is_sorted(keyed.begin(), keyed.end(), before)) return order;
  std::sort(keyed.begin(), keyed.end(), before);
  order.rows_.resize(rows);
  for (uint64_t i = 0; i < rows; ++i) order.rows_[i] = keyed[i].row;
  return order;
}

RowOrder RowOrder::asTheyLie(uint64_t rows) {
  RowOrder order;
  order.count_ = order.end_integer_ = rows;
  return order;
}

RowOrder RowOrder::byRank(const SqlColumn& column, uint64_t rows) {
  RowOrder order;
  order.count_ = rows;
  uint64_t largest = 0;
  bool sorted = true;
  uint64_t last = 0;
  for (uint64_t i = 0; i < rows; ++i) {
    const uint64_t key = column.rank(i);
    sorted = sorted && key >= last;
    last = key;
    largest = std::max(largest, key);
  }
  if (sorted) return order;
  // A counting sort: the keys are numbers of strings, of which there are far fewer than rows.
  std::vector<uint64_t> places(largest + 2, 0);
  for (uint64_t i = 0; i < rows; ++i) ++places[column.rank(i) + 1];
  for (size_t k = 1; k < places.size(); ++k) places[k] += places[k - 1];
  order.rows_.resize(rows);
  for (uint64_t i = 0; i < rows; ++i) {
    order.rows_[places[column.rank(i)]++] = static_cast<uint32_t>(i);
  }
  return order;
}

std::pair<uint64_t, uint64_t> RowOrder::range(const SqlColumn& column, int64_t low,
                                              int64_t high) const {
  if (low > high) return {0, 0};
  // The first place in [from, end_integer_) whose value does not satisfy `less`.
  auto firstNot = [&](uint64_t from, auto less) {
    uint64_t count = end_integer_ - from;
    while (count > 0) {
      const uint64_t half = count / 2;
      if (less(column.at(row(from + half)).integer)) {
        from += half + 1;
        count -= half + 1;
      } else {
        count = half;
      }
    }
    return from;
  };
  const uint64_t first = firstNot(first_integer_, [&](int64_t v) { return v < low; });
  if (high == std::numeric_limits<int64_t>::max()) return {first, count_};
  const uint64_t last = firstNot(first, [&](int64_t v) { return v <= high; });
  return {first, last};
}

}  // namespace tracesmith
