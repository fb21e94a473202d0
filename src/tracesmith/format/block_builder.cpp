// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/block_builder.hpp"

#include <algorithm>
#include <cstring>

#include "tracesmith/base/hash.hpp"
#include "tracesmith/format/column_codec.hpp"

namespace tracesmith::sbt {
namespace {

/// Compressing less than this costs more (frame header, time) than it saves.
constexpr size_t kMinCompressBytes = 48;

}  // namespace

BlockBuilder::BlockBuilder(int zstd_level) : zstd_(ZSTD_createCCtx()) {
  if (!zstd_) return;  // out of memory: blocks go uncompressed
  ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_compressionLevel, zstd_level);
  ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_contentSizeFlag, 1);
  ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_checksumFlag, 0);  // the directory has one
}

void BlockBuilder::begin(uint32_t rows) {
  rows_ = rows;
  directory_.clear();
  data_size_ = 0;
}

void BlockBuilder::addWords(uint16_t column, ElementType type, Encoding hint,
                            std::span<const uint64_t> words) {
  if (std::all_of(words.begin(), words.end(), [](uint64_t word) { return word == 0; })) return;
  const ColumnCodec& codec = chooseCodec(words, type, hint);
  const size_t bound = encodedBound(words.size());
  if (encoded_.size() < bound) encoded_.resize(bound);
  const uint8_t* end = codec.encode(words, type, encoded_.data());
  ColumnEntry entry;
  entry.column = column;
  entry.type = type;
  entry.encoding = codec.number;
  addEncoded(entry, {encoded_.data(), static_cast<size_t>(end - encoded_.data())});
}

void BlockBuilder::addBytes(uint16_t column, ByteView bytes) {
  if (bytes.empty()) return;
  ColumnEntry entry;
  entry.column = column;
  entry.type = ElementType::kBytes;
  entry.encoding = kRawEncoding;
  addEncoded(entry, bytes);
}

void BlockBuilder::addEncoded(ColumnEntry entry, ByteView encoded) {
  const size_t room = std::max(encoded.size(), ZSTD_compressBound(encoded.size()));
  if (data_.size() < data_size_ + room) data_.resize((data_size_ + room) * 2);
  uint8_t* const out = data_.data() + data_size_;

  size_t stored = 0;
  if (zstd_ && encoded.size() >= kMinCompressBytes) {
    stored = ZSTD_compress2(zstd_.get(), out, room, encoded.data(), encoded.size());
    // Less than a sixteenth saved is not worth the reader's time.
    if (ZSTD_isError(stored) || stored > encoded.size() - encoded.size() / 16) stored = 0;
  }
  entry.compression = stored != 0 ? Compression::kZstd : Compression::kNone;
  if (stored == 0) {
    stored = encoded.size();
    std::memcpy(out, encoded.data(), stored);
  }
  entry.encoded_bytes = static_cast<uint32_t>(encoded.size());
  entry.stored_bytes = static_cast<uint32_t>(stored);
  entry.checksum = hash64({out, stored});
  data_size_ += stored;

  const size_t at = directory_.size();
  directory_.resize(at + kColumnEntryBytes);
  encodeColumnEntry(entry, directory_.data() + at);
}

ByteView BlockBuilder::finish(BlockHeader header, uint64_t offset) {
  if (header.kind != BlockKind::kEnd) header.rows = rows_;
  header.directory_bytes = static_cast<uint32_t>(directory_.size());
  header.data_bytes = data_size_;
  header.directory_checksum = hash64(directory_);
  block_.resize(static_cast<size_t>(header.totalBytes()));
  encodeBlockHeader(header, offset, block_.data());
  if (!directory_.empty()) {
    std::memcpy(block_.data() + kBlockHeaderBytes, directory_.data(), directory_.size());
  }
  if (data_size_ != 0) {
    std::memcpy(block_.data() + kBlockHeaderBytes + directory_.size(), data_.data(), data_size_);
  }
  return block_;
}

}  // namespace tracesmith::sbt
