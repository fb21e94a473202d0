// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/columns/sql_table.hpp"

#include <algorithm>
#include <limits>

namespace tracesmith {

const RowOrder& SqlTable::order(const std::vector<size_t>& columns) const {
  auto it = orders_.find(columns);
  if (it == orders_.end()) {
    std::vector<const SqlColumn*> keys;
    for (const size_t i : columns) keys.push_back(&column(i));
    const bool lies = columns.size() == 1 && column(columns[0]).role() != ColumnRole::kText &&
                      isSorted(columns[0]);
    RowOrder made = lies ? RowOrder::inStorageOrder(rows()) : RowOrder::by(keys, rows());
    it = orders_.emplace(columns, std::move(made)).first;
  }
  return it->second;
}

bool SqlTable::isSorted(size_t i) const {
  if (auto it = in_order_.find(i); it != in_order_.end()) return it->second;
  constexpr size_t kBlock = 1024;
  std::vector<uint64_t> rows(kBlock);
  std::vector<Cell> cells(kBlock);
  bool in_order = true;
  int64_t last = std::numeric_limits<int64_t>::min();
  const uint64_t count = this->rows();
  for (uint64_t row = 0; row < count && in_order; row += kBlock) {
    const size_t n = std::min<uint64_t>(kBlock, count - row);
    for (size_t k = 0; k < n; ++k) rows[k] = row + k;
    column(i).read(rows.data(), n, cells.data());
    for (size_t k = 0; k < n && in_order; ++k) {
      in_order = cells[k].type == ValueType::kInteger && cells[k].integer >= last;
      last = cells[k].integer;
    }
  }
  return in_order_[i] = in_order;
}

}  // namespace tracesmith
