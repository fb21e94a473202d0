// SPDX-License-Identifier: Apache-2.0
// Converts the columns of a block to the rows of a table.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tracesmith/format/block_contents.hpp"
#include "tracesmith/format/encoding/column_words.hpp"
#include "tracesmith/format/table_traits.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::sbt {

/// A problem with a column, and its effect on the rows.
struct ColumnProblem {
  Problem problem;       ///< its text names the column
  bool dropped = false;  ///< the rows of this block were omitted
};

/// Decodes a column into `out`, which has rows() values. `words` is scratch space.
template <class T>
Problem readColumn(BlockContents& block, const ColumnEntry& entry, T* out,
                   std::vector<uint64_t>& words) {
  if (std::is_integral_v<T> && sizeof(T) == 8 &&
      entry.type == elementTypeOf<T>()) {  // stored as in memory
    return block.words(entry, {reinterpret_cast<uint64_t*>(out), block.rows()});
  }
  if (sizeof(T) == 4 &&
      block.words(entry, std::span(reinterpret_cast<uint32_t*>(out), block.rows()))) {
    return {};  // also stored as in memory; the code below finds out about any problem
  }
  words.resize(block.rows());
  Problem problem = block.words(entry, words);
  if (!problem && !fromWords(words, entry.type, out)) {
    problem = damaged("it holds values that are too large");
  }
  return problem;
}

/// Appends the rows of `block` to `table`. An unreadable column reads as zeros if zero means "none"
/// (references, kinds), and in tables whose rows must keep their position. In other columns a zero
/// would be wrong (a kernel of 0 ns), so the block's rows are omitted.
template <class Table>
std::vector<ColumnProblem> appendRows(BlockContents& block, Table& table,
                                      std::vector<uint64_t>& words) {
  std::vector<ColumnProblem> problems;
  const size_t before = table.size();
  const bool rows_stay = isDictionary(Table::kId) || isKeyed(Table::kId);
  bool dropped = false;
  uint16_t known_columns = 0;
  Table::visitColumns(table, [&](const ColumnInfo& info, auto& column) {
    column.resize(before + block.rows());
    const ColumnEntry* entry = block.find(info.number);
    if (entry == nullptr || dropped) return;
    ++known_columns;
    using T = typename std::decay_t<decltype(column)>::value_type;
    Problem problem = readColumn(block, *entry, column.data() + before, words);
    if (!problem) return;
    std::fill(column.begin() + static_cast<ptrdiff_t>(before), column.end(), T{});
    dropped = !rows_stay && info.encoding != Encoding::kId;
    problem.text = "column " + std::string(info.name) + " of " + Table::kName + ": " + problem.text;
    problems.push_back({std::move(problem), dropped});
  });
  if (dropped) {
    table.resize(before);
  } else if (known_columns < block.entries().size()) {
    for (const ColumnEntry& entry : block.entries()) {
      bool known = false;
      Table::visitColumns(table, [&](const ColumnInfo& info, auto&) {
        known = known || info.number == entry.column;
      });
      if (known || entry.column >= kFirstHintColumn) continue;
      problems.push_back({newerVersion("column " + std::to_string(entry.column) + " of " +
                                       Table::kName + " is unknown to this version"),
                          false});
    }
  }
  return problems;
}

/// Appends one string per row of `block`; unreadable ones become "".
std::vector<ColumnProblem> appendStrings(BlockContents& block, StringTable& strings);

}  // namespace tracesmith::sbt
