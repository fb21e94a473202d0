// SPDX-License-Identifier: Apache-2.0
// Keyed tables: the first column is the id, and a later row with the same id replaces the earlier.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tracesmith/model/trace.hpp"

namespace tracesmith::sbt {

/// Moves `rows` into `table`, in which the row of id n lies at n - 1; ids that never had a row
/// leave an empty one (id kNone). Rows without an id are left out; so are those with one above
/// `max_id`, whose number is returned.
template <class Table>
size_t mergeById(Table& table, const Table& rows, uint64_t max_id) {
  using Id = typename decltype(table.id)::value_type;
  size_t left_out = 0;
  uint64_t largest = table.size();
  for (Id id : rows.id) {
    const auto i = static_cast<uint64_t>(id);
    if (i <= max_id) largest = std::max(largest, i);
  }
  if (largest > table.size()) table.resize(static_cast<size_t>(largest));
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto id = static_cast<uint64_t>(rows.id[i]);
    if (id > max_id) {
      ++left_out;
    } else if (id != 0) {
      table.set(static_cast<size_t>(id) - 1, rows.row(i));
    }
  }
  return left_out;
}

}  // namespace tracesmith::sbt
