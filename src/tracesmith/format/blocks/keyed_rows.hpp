// SPDX-License-Identifier: Apache-2.0
// Keyed tables: the first column is the id; a later row with the same id replaces an earlier one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tracesmith/model/trace.hpp"

namespace tracesmith::sbt {

/// Moves `rows` into `table`, where the row of id n is at index n - 1. Ids that never had a row
/// become an empty row (id kNone). Rows without an id are skipped, and so are rows with an id above
/// `max_id`; returns the number of the latter.
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
