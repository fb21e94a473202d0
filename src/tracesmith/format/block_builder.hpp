// SPDX-License-Identifier: Apache-2.0
// Puts one block together: encodes and compresses columns, then lays header, directory and data
// out.
#pragma once

#include <zstd.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/format/sbt_layout.hpp"
#include "tracesmith/format/words.hpp"
#include "tracesmith/model/tables.hpp"

namespace tracesmith::sbt {

/// Reused from block to block, so that steady writing allocates nothing. One thread at a time.
class BlockBuilder {
 public:
  explicit BlockBuilder(int zstd_level);

  /// Begins a block of `rows` rows.
  void begin(uint32_t rows);

  /// Adds rows() values; a column of zeros is left out, which reads the same.
  template <class T>
  void addColumn(uint16_t column, Encoding hint, const T* values) {
    words_.resize(rows_);
    toWords(values, rows_, words_.data());
    addWords(column, elementTypeOf<T>(), hint, words_);
  }
  void addWords(uint16_t column, ElementType type, Encoding hint, std::span<const uint64_t> words);
  /// Adds a column of bytes, at most kMaxColumnBytes.
  void addBytes(uint16_t column, ByteView bytes);

  /// The whole block for `offset`; sizes, rows and checksums of `header` are filled in. The view
  /// lives until the next begin().
  ByteView finish(BlockHeader header, uint64_t offset);

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  void addEncoded(ColumnEntry entry, ByteView encoded);

  std::unique_ptr<ZSTD_CCtx, FreeContext> zstd_;
  uint32_t rows_ = 0;
  std::vector<uint64_t> words_;
  Bytes encoded_;
  Bytes directory_;
  Bytes data_;
  size_t data_size_ = 0;  // data_ is kept larger than what is used
  Bytes block_;
};

}  // namespace tracesmith::sbt
