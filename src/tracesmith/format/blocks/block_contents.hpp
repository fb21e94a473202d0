// SPDX-License-Identifier: Apache-2.0
// The bytes of one block in memory, and its columns as words. Nothing is trusted before it is
// checked: sizes against the limits and the block, checksums before decoding.
#pragma once

#include <zstd.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/format/blocks/block_builder.hpp"
#include "tracesmith/format/blocks/file_io.hpp"
#include "tracesmith/format/encoding/column_codec.hpp"
#include "tracesmith/format/encoding/sbt_layout.hpp"

namespace tracesmith::sbt {

/// The reason why something could not be read.
struct Problem {
  enum class Kind : uint8_t {
    kNone,
    kDamaged,
    kNewer,  ///< written by a newer version; not damage
  };
  Kind kind = Kind::kNone;
  std::string text;
  explicit operator bool() const { return kind != Kind::kNone; }
};
Problem damaged(std::string text);
Problem newerVersion(std::string text);

/// Reused from block to block. Not thread-safe: one thread at a time.
class BlockContents {
 public:
  BlockContents();

  /// Reads header and directory at `offset`, and the column data unless `directory_only`.
  /// `expected` is the header known from the log. An error of the system is a Problem as well.
  Problem load(const FileHandle& file, const std::string& path, uint64_t offset,
               const BlockHeader& expected, bool directory_only = false);

  const std::vector<ColumnEntry>& entries() const { return entries_; }
  uint32_t rows() const { return rows_; }
  /// The entry of a column; nullptr if the block does not have it (it then reads as zeros).
  const ColumnEntry* find(uint16_t column) const;

  /// Verifies the bytes of all columns without decoding them.
  Problem checkStored() const;
  Problem checkStored(const ColumnEntry& entry) const;
  /// The contents for copying this block to another file; valid until the next load().
  BlockBuilder::Contents stored() const;
  /// A column's bytes, as stored.
  ByteView stored(const ColumnEntry& entry) const;

  /// Decodes a column into `out`, which has rows() words.
  Problem words(const ColumnEntry& entry, std::span<uint64_t> out);
  /// The same for a column of 32-bit values. Returns false if a value does not, or may not, fit, or
  /// if words() would report a problem.
  bool words(const ColumnEntry& entry, std::span<uint32_t> out);
  /// The bytes of a column of type kBytes; the view is valid until the next call of any method.
  Problem bytes(const ColumnEntry& entry, ByteView& out);

 private:
  struct FreeContext {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  static constexpr uint32_t kNoColumn = UINT32_MAX;
  struct Base {
    uint32_t column;  // kNoColumn if not decoded, or if it cannot be decoded
    BaseWords values;
  };
  Problem encodedBytes(const ColumnEntry& entry, uint64_t limit, ByteView& out);
  template <class Word>
  Problem decode(const ColumnEntry& entry, size_t depth, std::span<Word> out);
  /// The words of a column that others refer to; kept as long as the block is loaded.
  Problem baseWords(uint16_t column, size_t depth, BaseWords*& out);

  std::unique_ptr<ZSTD_DCtx, FreeContext> zstd_;
  uint32_t rows_ = 0;
  Buffer<uint8_t> block_;
  std::vector<ColumnEntry> entries_;
  std::vector<uint64_t> starts_;  // start of each entry's data within block_
  Buffer<uint8_t> unpacked_;
  std::array<Base, kMostBaseColumns> bases_;
  size_t bases_used_ = 0;
};

}  // namespace tracesmith::sbt
