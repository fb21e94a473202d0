// SPDX-License-Identifier: Apache-2.0
// From the columns of a block to the rows of a table.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tracesmith/format/block_contents.hpp"
#include "tracesmith/format/encoding/column_words.hpp"
#include "tracesmith/format/table_traits.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::sbt {

/// What went wrong with a column, and what became of the rows.
struct ColumnProblem {
  Problem problem;       ///< its text names the column
  bool dropped = false;  ///< the rows of this block were left out
};

/// Fills `out`, which has rows() values, with the values of a column. `words` is room to work in.
template <class T>
Problem readColumn(BlockContents& block, const ColumnEntry& entry, T* out,
                   std::vector<uint64_t>& words) {
  if (std::is_integral_v<T> && sizeof(T) == 8 &&
      entry.type == elementTypeOf<T>()) {  // as they lie in memory
    return block.words(entry, {reinterpret_cast<uint64_t*>(out), block.rows()});
  }
  if (sizeof(T) == 4 &&
      block.words(entry, std::span(reinterpret_cast<uint32_t*>(out), block.rows()))) {
    return {};  // as they lie in memory, too; what went wrong, if it did, is found the other way
  }
  words.resize(block.rows());
  Problem problem = block.words(entry, words);
  if (!problem && !fromWords(words, entry.type, out)) {
    problem = damaged("it holds values that are too large");
  }
  return problem;
}

/// Appends the rows of `block` to `table`. A column that cannot be read reads as zeros where zero
/// means "none" (references, kinds) and in tables whose rows must stay in place; anywhere else a
/// zero would be a lie (a kernel of 0 ns), so that the block's rows are left out.
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
      problems.push_back({newer("column " + std::to_string(entry.column) + " of " + Table::kName +
                                " is unknown to this version"),
                          false});
    }
  }
  return problems;
}

/// Appends the strings of `block`, as many as it has rows: unreadable ones as "".
std::vector<ColumnProblem> appendStrings(BlockContents& block, StringTable& strings);

}  // namespace tracesmith::sbt
