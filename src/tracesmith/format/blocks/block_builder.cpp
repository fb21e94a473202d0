// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/blocks/block_builder.hpp"

#include <algorithm>
#include <cstring>

#include "tracesmith/base/hash.hpp"
#include "tracesmith/format/encoding/column_codec.hpp"
#include "tracesmith/format/encoding/column_compression.hpp"

namespace tracesmith::sbt {
BlockBuilder::BlockBuilder(int zstd_level) : zstd_(ZSTD_createCCtx()) {
  if (!zstd_) return;  // out of memory: blocks are not compressed
  ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_compressionLevel, zstd_level);
  ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_contentSizeFlag, 1);
  ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_checksumFlag, 0);  // the directory has a checksum
}

void BlockBuilder::begin(uint32_t rows, uint16_t table) {
  rows_ = rows;
  table_ = table;
  directory_.clear();
  data_size_ = 0;
}

void BlockBuilder::addWords(uint16_t column, ElementType type, std::span<const uint64_t> words,
                            uint16_t base, BaseWords* base_words) {
  addChosen(column, type, {words, base_words}, base, static_cast<uint32_t>(table_) << 16 | column);
}

void BlockBuilder::addLeaf(uint16_t column, ElementType type, std::span<const uint64_t> words,
                           uint32_t leaf) {
  addChosen(column, type, {words}, 0, 0x80000000u | leaf);
}

void BlockBuilder::addChosen(uint16_t column, ElementType type, ColumnWords related, uint16_t base,
                             uint32_t choice_key) {
  const std::span<const uint64_t> words = related.words;
  const bool constant =
      std::all_of(words.begin(), words.end(), [&](uint64_t word) { return word == words[0]; });
  if (words.empty() || (constant && words[0] == 0)) return;
  const size_t bound = encodedBound(words.size());
  if (encoded_.size() < bound) encoded_.resize(bound);
  for (bool again = false;; again = true) {
    const ColumnCodec& codec = constant ? *findCodec(kConstantEncoding)
                                        : choice_.choose(choice_key, related, type, zstd_.get());
    const uint8_t* end = codec.encode(related, type, encoded_.data());
    ColumnEntry entry;
    entry.column = column;
    entry.type = type;
    entry.encoding = codec.number;
    if (codec.needs_base) entry.base_column = base;
    const size_t stored =
        addEncoded(entry, {encoded_.data(), static_cast<size_t>(end - encoded_.data())});
    if (constant || !choice_.shouldEncodeAgain(choice_key, words.size(), stored) || again) return;
    data_size_ -= stored;
    directory_.resize(directory_.size() - kColumnEntryBytes);
  }
}

void BlockBuilder::addBytes(uint16_t column, ByteView bytes) {
  if (bytes.empty()) return;
  ColumnEntry entry;
  entry.column = column;
  entry.type = ElementType::kBytes;
  entry.encoding = kRawEncoding;
  addEncoded(entry, bytes);
}

size_t BlockBuilder::addEncoded(ColumnEntry entry, ByteView encoded) {
  const size_t room = std::max(encoded.size(), ZSTD_compressBound(encoded.size()));
  if (data_.size() < data_size_ + room) data_.resize((data_size_ + room) * 2);
  uint8_t* const out = data_.data() + data_size_;

  size_t stored = compressColumn(zstd_.get(), encoded, out);
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
  return stored;
}

ByteView BlockBuilder::layOutFront(BlockHeader header, uint64_t offset, const Contents& contents,
                                   Bytes& block) {
  const auto [rows, directory, data] = contents;
  if (header.kind != BlockKind::kEnd) header.rows = rows;
  header.directory_bytes = static_cast<uint32_t>(directory.size());
  header.data_bytes = data.size();
  header.directory_checksum = hash64(directory);
  const size_t front = kBlockHeaderBytes + directory.size();
  // Never shrink it: growing again would fill it with zeros first.
  if (block.size() < front) block.resize(front);
  encodeBlockHeader(header, offset, block.data());
  if (!directory.empty()) {
    std::memcpy(block.data() + kBlockHeaderBytes, directory.data(), directory.size());
  }
  return {block.data(), front};
}

ByteView BlockBuilder::layOut(BlockHeader header, uint64_t offset, const Contents& contents,
                              Bytes& block) {
  const size_t total = kBlockHeaderBytes + contents.directory.size() + contents.data.size();
  if (block.size() < total) block.resize(total);
  const size_t front = layOutFront(header, offset, contents, block).size();
  if (!contents.data.empty()) {
    std::memcpy(block.data() + front, contents.data.data(), contents.data.size());
  }
  return {block.data(), total};
}

}  // namespace tracesmith::sbt
