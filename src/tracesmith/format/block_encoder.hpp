// SPDX-License-Identifier: Apache-2.0
// Encodes rows of tables into blocks, and the sources of these rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/format/blocks/block_builder.hpp"
#include "tracesmith/format/blocks/row_order.hpp"
#include "tracesmith/format/blocks/source_blocks.hpp"
#include "tracesmith/format/blocks/table_traits.hpp"
#include "tracesmith/format/blocks/time_hints.hpp"
#include "tracesmith/format/encoding/column_words.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith::sbt {

/// `count` values as words, in the order of `order` (null: unchanged); empty if all are 0.
template <class T>
void gatherWords(const T* values, size_t count, const uint32_t* order, Buffer<uint64_t>& out) {
  uint64_t any = 0;
  for (size_t i = 0; i < count && any == 0;) {
    for (const size_t end = std::min(count, i + 1024); i < end; ++i) any |= toWord(values[i]);
  }
  out.resize(any == 0 ? 0 : count);
  if (any == 0) return;
  if (order == nullptr) {
    toWords(values, count, out.data());
  } else {
    for (size_t i = 0; i < count; ++i) out[i] = toWord(values[order[i]]);
  }
}

/// Reused from block to block, so that steady writing allocates nothing. Not thread-safe: one
/// thread at a time.
class BlockEncoder {
 public:
  BlockEncoder(TimeHints& hints, const WriterOptions& options)
      : hints_(hints),
        builder_(options.zstd_level),
        max_block_rows_(std::clamp(options.max_block_rows, uint32_t{1}, kMaxBlockRows)) {}

  /// Encodes the rows block by block. The first row has number `first_row` in its table. Each block
  /// is followed by the block of its rows' sources, if any. Calls done(header) for every block;
  /// builder() then has the block.
  template <class Table, class Done>
  Status encode(const Table& table, uint64_t first_row, bool may_reorder, const SourceRows* sources,
                const Done& done) {
    const size_t rows = table.size();
    const SourceTable* of_rows = sources == nullptr ? nullptr : sources->find(Table::kId);
    if (of_rows != nullptr && of_rows->size() != rows) of_rows = nullptr;
    for (size_t begin = 0; begin < rows; begin += max_block_rows_) {
      const size_t count = std::min<size_t>(max_block_rows_, rows - begin);
      BlockHeader header;
      header.table = static_cast<uint16_t>(Table::kId);
      header.first_row = first_row + begin;
      const TimeHints::Range range = hints_.of(table, begin, begin + count);
      header.min_time_ns = range.min_ns;
      header.max_time_ns = range.max_ns;
      const bool reordered = may_reorder && orderRows(table, begin, count, order_);
      const uint32_t* const order = reordered ? order_.data() : nullptr;
      addColumns(table, begin, count, order);
      TS_CHECK_OK(done(std::as_const(header)));
      if (of_rows == nullptr) continue;
      TS_CHECK_OK(encodeSources({.table = Table::kId,
                                 .first_row = header.first_row,
                                 .begin = begin,
                                 .count = count,
                                 .order = order},
                                *of_rows, *sources, header, done));
    }
    return {};
  }

  /// Encodes the sources of events that are rows of no table.
  template <class Done>
  Status encodeAlone(const SourceTable& rows, const SourceRows& sources, const Done& done) {
    for (size_t begin = 0; begin < rows.size(); begin += max_block_rows_) {
      const size_t count = std::min<size_t>(max_block_rows_, rows.size() - begin);
      TS_CHECK_OK(encodeSources({.table = SourceRows::kNone, .begin = begin, .count = count}, rows,
                                sources, {}, done));
    }
    return {};
  }

  BlockBuilder& builder() { return builder_; }
  uint32_t maxBlockRows() const { return max_block_rows_; }

 private:
  struct NumberedWords {
    uint16_t column = 0;
    BaseWords values;  // empty: all are 0
  };

  template <class Table>
  void addColumns(const Table& table, size_t begin, size_t count, const uint32_t* order) {
    size_t columns = 0;
    Table::visitColumns(table, [&](const ColumnInfo& info, const auto& column) {
      gatherColumn(columns++, info.number, column.data() + begin, count, order);
    });
    builder_.begin(static_cast<uint32_t>(count), static_cast<uint16_t>(Table::kId));
    size_t next = 0;
    Table::visitColumns(table, [&](const ColumnInfo& info, const auto& column) {
      using T = typename std::decay_t<decltype(column)>::value_type;
      addWords(next++, columns, relatedColumn<Table>(info.number), elementTypeOf<T>());
    });
  }

  // By type, not by column: they would be compiled once for each of 300 columns.
  template <class T>
  [[gnu::noinline]] void gatherColumn(size_t i, uint16_t number, const T* values, size_t count,
                                      const uint32_t* order) {
    if (i == words_.size()) words_.emplace_back();
    NumberedWords& w = words_[i];
    w.column = number;
    w.values.clear();
    gatherWords(values, count, order, w.values.words);
  }
  void addWords(size_t i, size_t columns, uint16_t base, ElementType type) {
    BaseWords* base_words = nullptr;
    for (size_t k = 0; base != 0 && k < columns; ++k) {
      if (words_[k].column == base && !words_[k].values.words.empty()) {
        base_words = &words_[k].values;
      }
    }
    builder_.addWords(words_[i].column, type, words_[i].values.words, base, base_words);
  }

  /// `header`: the header of the block that has the rows.
  template <class Done>
  Status encodeSources(SourceBlockWriter::Piece piece, const SourceTable& rows,
                       const SourceRows& sources, BlockHeader header, const Done& done) {
    header.table = static_cast<uint16_t>(TableId::kSource);
    const uint64_t first_row = piece.first_row;
    while (piece.next < piece.count) {
      piece.first_row = first_row + piece.next;
      piece.next += source_blocks_.fill(builder_, sources, rows, piece);
      TS_CHECK_OK(done(std::as_const(header)));
    }
    return {};
  }

  TimeHints& hints_;
  BlockBuilder builder_;
  uint32_t max_block_rows_;
  std::vector<NumberedWords> words_;  // of the block being encoded
  std::vector<uint32_t> order_;
  SourceBlockWriter source_blocks_;
};

}  // namespace tracesmith::sbt
