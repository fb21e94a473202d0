// SPDX-License-Identifier: Apache-2.0
// Builds one block: encodes and compresses columns, then lays out header, directory and data.
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

/// Reused from block to block, so that steady writing allocates nothing. Not thread-safe: one
/// thread at a time.
class BlockBuilder {
 public:
  explicit BlockBuilder(int zstd_level);

  /// Starts a block of `rows` rows. The table number distinguishes its columns from those of other
  /// tables.
  void begin(uint32_t rows, uint16_t table);

  /// Adds a column; a column of zeros is omitted, which reads the same. `base` is another column of
  /// the block, added or not, to which this column's words are related; 0: none.
  void addWords(uint16_t column, ElementType type, std::span<const uint64_t> words,
                uint16_t base = 0, BaseWords* base_words = nullptr);
  /// Adds a column that has its own number of values; `leaf` identifies it across blocks, whatever
  /// its column number.
  void addLeaf(uint16_t column, ElementType type, std::span<const uint64_t> words, uint32_t leaf);
  /// Adds a column of bytes, at most kMaxColumnBytes.
  void addBytes(uint16_t column, ByteView bytes);

  /// The contents of a block without its header.
  struct Contents {
    uint32_t rows = 0;
    ByteView directory;
    ByteView data;
  };
  /// Valid until the next begin().
  Contents contents() const { return {rows_, directory_, {data_.data(), data_size_}}; }
  /// Writes the whole block for `offset` to the start of `block`, and fills in sizes, rows and
  /// checksums of `header`.
  static ByteView layOut(BlockHeader header, uint64_t offset, const Contents& contents,
                         Bytes& block);
  /// The same without the data, which the caller writes after it: avoids copying large data once
  /// more.
  static ByteView layOutFront(BlockHeader header, uint64_t offset, const Contents& contents,
                              Bytes& block);
  /// layOut() for the columns added so far. The view is valid until the next begin().
  ByteView finish(BlockHeader header, uint64_t offset) {
    return layOut(header, offset, contents(), block_);
  }

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  void addChosen(uint16_t column, ElementType type, ColumnWords words, uint16_t base,
                 uint32_t choice_key);
  /// Returns the number of stored bytes.
  size_t addEncoded(ColumnEntry entry, ByteView encoded);

  std::unique_ptr<ZSTD_CCtx, FreeContext> zstd_;
  CodecChoice choice_;
  uint32_t rows_ = 0;
  uint16_t table_ = 0;
  Bytes encoded_;
  Bytes directory_;
  Bytes data_;
  size_t data_size_ = 0;  // used bytes of data_, which may be larger
  Bytes block_;
};

}  // namespace tracesmith::sbt
