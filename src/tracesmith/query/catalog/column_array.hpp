// SPDX-License-Identifier: Apache-2.0
// A column of a table as one array, for code that computes with whole columns. Values that the
// trace has in memory in this form are not copied.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tracesmith/query/catalog/trace_tables.hpp"

namespace tracesmith {

struct ColumnArray {
  std::shared_ptr<const void> owner;  ///< keeps `data` alive
  const void* data = nullptr;
  uint64_t rows = 0;
  char format = 0;  ///< type of a value in Arrow's notation: I l L g; i for the indexes of texts
  /// One bit per row, lowest bit first; 0: no value, whatever `data` contains. Empty: all rows have
  /// a value.
  std::vector<uint8_t> valid;
  uint64_t nulls = 0;
  /// The distinct texts, sorted by their bytes; `data` has indexes from 0, or -1 for none.
  bool is_text = false;
  std::vector<char> texts;
  std::vector<int64_t> text_ends = {0};  ///< where each text starts, and where the last one ends
};

/// The content of a column of `loaded`, after TraceTables::need(). Throws std::bad_alloc.
ColumnArray columnArray(std::shared_ptr<const TraceTables::Loaded> loaded, const SqlTable& table,
                        const SqlColumn& column);

/// Number of rows, without rows that a keyed table has lost.
uint64_t presentRows(const SqlTable& table);

}  // namespace tracesmith
