// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/sql_table.hpp"

namespace tracesmith {

const RowOrder* SqlTable::order(size_t i) const {
  if (rows_ > RowOrder::kMaxRows) return nullptr;
  auto it = orders_.find(i);
  if (it == orders_.end()) {
    const SqlColumn& c = column(i);
    RowOrder made = c.role() == ColumnRole::kText ? RowOrder::byRank(c, rows_)
                    : liesInOrder(i)              ? RowOrder::asTheyLie(rows_)
                                                  : RowOrder::byValue(c, rows_);
    it = orders_.emplace(i, std::move(made)).first;
  }
  return &it->second;
}

bool SqlTable::liesInOrder(size_t i) const {
  if (auto it = in_order_.find(i); it != in_order_.end()) return it->second;
  bool in_order = true;
  int64_t last = 0;
  for (uint64_t row = 0; row < rows_ && in_order; ++row) {
    const Value value = column(i).at(row);
    in_order = value.type == ValueType::kInteger && (row == 0 || value.integer >= last);
    last = value.integer;
  }
  return in_order_[i] = in_order;
}

}  // namespace tracesmith
