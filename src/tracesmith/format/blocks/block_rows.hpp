// SPDX-License-Identifier: Apache-2.0
// Converts the columns of a block to the rows of a table.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/format/blocks/block_contents.hpp"
#include "tracesmith/format/blocks/table_traits.hpp"
#include "tracesmith/format/encoding/column_words.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::sbt {

/// A problem with a column, and its effect on the rows.
struct ColumnProblem {
  Problem problem;       ///< its text names the column
  bool dropped = false;  ///< the rows of this block were omitted
};

/// Decodes the first `rows` values of a column into `out`. `words` is scratch space.
template <class T>
Problem readColumn(BlockContents& block, const ColumnEntry& entry, size_t rows, T* out,
                   std::vector<uint64_t>& words) {
  const bool whole = rows == block.rows();
  if (whole && std::is_integral_v<T> && sizeof(T) == 8 &&
      entry.type == elementTypeOf<T>()) {  // stored as in memory
    return block.words(entry, {reinterpret_cast<uint64_t*>(out), block.rows()});
  }
  if (whole && sizeof(T) == 4 &&
      block.words(entry, std::span(reinterpret_cast<uint32_t*>(out), block.rows()))) {
    return {};  // also stored as in memory; the code below finds out about any problem
  }
  words.resize(block.rows());
  Problem problem = block.words(entry, words);
  if (!problem && !fromWords(std::span(words).first(rows), entry.type, out)) {
    problem = damaged("it holds values that are too large");
  }
  return problem;
}

/// Decodes the columns of one block to rows of a table.
struct RowDecoder {
  BlockContents& block;
  std::vector<uint64_t>& words;
  const char* table;
  size_t before;                     // rows that the table had
  size_t rows;                       // that it gets
  bool rows_stay;                    // rows must keep their positions
  std::span<const uint16_t> only{};  // columns to decode; empty: all
  bool dropped = false;
  uint16_t known_columns = 0;
  std::vector<ColumnProblem> problems;

  template <class T>
  [[gnu::noinline]] void decode(const ColumnInfo& info, Column<T>& column) {
    column.resize(before + rows);
    const ColumnEntry* entry = block.find(info.number);
    if (entry == nullptr || dropped) return;
    ++known_columns;
    const bool is_wanted =
        only.empty() || std::find(only.begin(), only.end(), info.number) != only.end();
    Problem problem = is_wanted ? readColumn(block, *entry, rows, column.data() + before, words)
                                : block.checkStored(*entry);
    if (!problem) return;
    std::fill(column.begin() + before, column.end(), T{});
    note(info, std::move(problem));
  }
  void note(const ColumnInfo& info, Problem problem);
  void noteUnknown(std::span<const ColumnInfo> schema);
};

/// Appends the first `most_rows` rows of `block` to `table`. An unreadable column reads as zeros if
/// zero means "none" (references, kinds), and in tables whose rows must keep their position. In
/// other columns a zero would be wrong (a kernel of 0 ns), so the block's rows are omitted. `only`:
/// numbers of the columns to decode, others are only checked and read as zeros; empty: all.
template <class Table>
std::vector<ColumnProblem> appendRows(BlockContents& block, Table& table,
                                      std::vector<uint64_t>& words, size_t most_rows,
                                      std::span<const uint16_t> only = {}) {
  RowDecoder rows{.block = block,
                  .words = words,
                  .table = Table::kName,
                  .before = table.size(),
                  .rows = std::min<size_t>(block.rows(), most_rows),
                  .rows_stay = isDictionary(Table::kId) || isKeyed(Table::kId),
                  .only = only};
  Table::visitColumns(table,
                      [&](const ColumnInfo& info, auto& column) { rows.decode(info, column); });
  if (rows.dropped) {
    table.resize(rows.before);
  } else if (rows.known_columns < block.entries().size()) {
    rows.noteUnknown(Table::kColumns);
  }
  return std::move(rows.problems);
}

/// Appends one string per row of `block`; unreadable ones become "".
std::vector<ColumnProblem> appendStrings(BlockContents& block, StringTable& strings);

}  // namespace tracesmith::sbt
