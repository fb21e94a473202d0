// SPDX-License-Identifier: Apache-2.0
// A column of a table as one array, for those who compute with whole columns: where its values lie
// in memory as they are, nothing is copied.
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
  char format = 0;  ///< of a value, as Arrow writes it: I l L g, or i for the numbers of texts
  /// A bit per row, the lowest first; 0: there is no value, whatever `data` has. Empty: all have
  /// one.
  std::vector<uint8_t> valid;
  uint64_t nulls = 0;
  /// The texts that `data` numbers from 0 on, each once, in their order (by bytes); -1: none.
  bool is_text = false;
  std::vector<char> texts;
  std::vector<int64_t> text_ends = {0};  ///< where each text begins, and where the last one ends
};

/// What a column of `loaded` has, after TraceTables::need(). Throws std::bad_alloc.
ColumnArray columnArray(std::shared_ptr<const TraceTables::Loaded> loaded, const SqlTable& table,
                        const SqlColumn& column);

/// How many rows it has: those that were lost from a keyed table are none.
uint64_t rowsThere(const SqlTable& table);

}  // namespace tracesmith
