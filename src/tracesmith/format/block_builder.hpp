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
#include "tracesmith/format/encoding/codec_choice.hpp"
#include "tracesmith/format/encoding/sbt_layout.hpp"

namespace tracesmith::sbt {

/// Reused from block to block, so that steady writing allocates nothing. One thread at a time.
class BlockBuilder {
 public:
  explicit BlockBuilder(int zstd_level);

  /// Begins a block of `rows` rows of a table (a number that tells its columns from others').
  void begin(uint32_t rows, uint16_t table);

  /// Adds a column; one of zeros is left out, which reads the same. `base` is another column of the
  /// block, added or not, whose words its own are related to; 0: none.
  void addWords(uint16_t column, ElementType type, std::span<const uint64_t> words,
                uint16_t base = 0, BaseWords* base_words = nullptr);
  /// Adds a column with a number of values of its own; `leaf` tells it from others wherever its
  /// column lies.
  void addLeaf(uint16_t column, ElementType type, std::span<const uint64_t> words, uint32_t leaf);
  /// Adds a column of bytes, at most kMaxColumnBytes.
  void addBytes(uint16_t column, ByteView bytes);

  /// What a block has besides its header.
  struct Contents {
    uint32_t rows = 0;
    ByteView directory;
    ByteView data;
  };
  /// Lives until the next begin().
  Contents contents() const { return {rows_, directory_, {data_.data(), data_size_}}; }
  /// The whole block for `offset`, at the front of `block`; sizes, rows and checksums of `header`
  /// are filled in.
  static ByteView layOut(BlockHeader header, uint64_t offset, const Contents& contents,
                         Bytes& block);
  /// The same without the data, which follows it: large data need not be copied once more.
  static ByteView layOutFront(BlockHeader header, uint64_t offset, const Contents& contents,
                              Bytes& block);
  /// The same of what has been added. The view lives until the next begin().
  ByteView finish(BlockHeader header, uint64_t offset) {
    return layOut(header, offset, contents(), block_);
  }

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  void addChosen(uint16_t column, ElementType type, ColumnWords words, uint16_t base,
                 uint32_t choice_key);
  /// Returns the bytes that it took.
  size_t addEncoded(ColumnEntry entry, ByteView encoded);

  std::unique_ptr<ZSTD_CCtx, FreeContext> zstd_;
  CodecChoice choice_;
  uint32_t rows_ = 0;
  uint16_t table_ = 0;
  Bytes encoded_;
  Bytes directory_;
  Bytes data_;
  size_t data_size_ = 0;  // data_ is kept larger than what is used
  Bytes block_;
};

}  // namespace tracesmith::sbt
