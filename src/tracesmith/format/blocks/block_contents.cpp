// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/blocks/block_contents.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tracesmith/base/hash.hpp"
#include "tracesmith/format/encoding/column_codec.hpp"

namespace tracesmith::sbt {

Problem damaged(std::string text) { return {Problem::Kind::kDamaged, std::move(text)}; }
Problem newerVersion(std::string text) { return {Problem::Kind::kNewer, std::move(text)}; }

BlockContents::BlockContents() : zstd_(ZSTD_createDCtx()) {}

Problem BlockContents::load(const FileHandle& file, const std::string& path, uint64_t offset,
                            const BlockHeader& expected, bool directory_only) {
  entries_.clear();
  starts_.clear();
  bases_used_ = 0;
  rows_ = 0;
  // The log has checked `expected` against the file's size, so the file justifies this much memory.
  const uint64_t wanted =
      directory_only ? kBlockHeaderBytes + expected.directory_bytes : expected.totalBytes();
  block_.resize(static_cast<size_t>(wanted));
  auto read = readAt(file, offset, block_, path);
  if (!read) return damaged(read.error().message);
  if (*read < wanted) return damaged("the file has become shorter");
  BlockHeader header;
  if (!decodeBlockHeader(block_.data(), offset, header) ||
      header.directory_bytes != expected.directory_bytes ||
      header.data_bytes != expected.data_bytes || header.sequence != expected.sequence ||
      header.rows != expected.rows || header.table != expected.table ||
      header.first_row != expected.first_row || header.kind != expected.kind ||
      header.required_flags != expected.required_flags) {
    return damaged("the block's header is damaged");
  }
  const ByteView directory = ByteView(block_).subspan(kBlockHeaderBytes, header.directory_bytes);
  if (hash64(directory) != header.directory_checksum) {
    return damaged("the block's column directory is damaged");
  }
  if (header.directory_bytes % kColumnEntryBytes != 0) {
    return damaged("the block's column directory has an impossible size");
  }
  uint64_t at = kBlockHeaderBytes + header.directory_bytes;
  for (size_t i = 0; i < directory.size(); i += kColumnEntryBytes) {
    const ColumnEntry entry = decodeColumnEntry(directory.data() + i);
    if (entry.stored_bytes > header.totalBytes() - at) {
      entries_.clear();
      return damaged("the block's column directory names more data than the block has");
    }
    entries_.push_back(entry);
    starts_.push_back(at);
    at += entry.stored_bytes;
  }
  rows_ = header.rows;
  return {};
}

const ColumnEntry* BlockContents::find(uint16_t column) const {
  for (const ColumnEntry& entry : entries_) {
    if (entry.column == column) return &entry;
  }
  return nullptr;
}

Problem BlockContents::checkStored() const {
  for (const ColumnEntry& entry : entries_) {
    if (Problem problem = checkStored(entry)) {
      problem.text = fmt::format("column {}: {}", entry.column, problem.text);
      return problem;
    }
  }
  return {};
}

Problem BlockContents::checkStored(const ColumnEntry& entry) const {
  return hash64(stored(entry)) == entry.checksum ? Problem{}
                                                 : damaged("its checksum does not hold");
}

BlockBuilder::Contents BlockContents::stored() const {
  const ByteView rest = ByteView(block_).subspan(kBlockHeaderBytes);
  const size_t directory = entries_.size() * kColumnEntryBytes;
  return {rows_, rest.first(directory), rest.subspan(directory)};
}

ByteView BlockContents::stored(const ColumnEntry& entry) const {
  const auto index = static_cast<size_t>(&entry - entries_.data());
  return ByteView(block_).subspan(static_cast<size_t>(starts_[index]), entry.stored_bytes);
}

Problem BlockContents::encodedBytes(const ColumnEntry& entry, uint64_t limit, ByteView& out) {
  if (entry.encoded_bytes > limit || entry.encoded_bytes > kMaxColumnBytes) {
    return damaged(fmt::format("it claims {} bytes, more than possible", entry.encoded_bytes));
  }
  if (Problem problem = checkStored(entry)) return problem;
  const ByteView stored = this->stored(entry);
  switch (entry.compression) {
    case Compression::kNone:
      if (entry.stored_bytes != entry.encoded_bytes) return damaged("its sizes contradict");
      out = stored;
      return {};
    case Compression::kZstd: {
      if (!zstd_) return damaged("there is no memory to decompress it");
      if (unpacked_.size() < entry.encoded_bytes) unpacked_.resize(entry.encoded_bytes);
      const size_t n = ZSTD_decompressDCtx(zstd_.get(), unpacked_.data(), entry.encoded_bytes,
                                           stored.data(), stored.size());
      if (ZSTD_isError(n) || n != entry.encoded_bytes) return damaged("it does not decompress");
      out = ByteView(unpacked_).first(entry.encoded_bytes);
      return {};
    }
  }
  return newerVersion(fmt::format("compression {} is unknown to this version",
                                  static_cast<int>(entry.compression)));
}

template <class Word>
Problem BlockContents::decode(const ColumnEntry& entry, size_t depth, std::span<Word> out) {
  const ColumnCodec* codec = findCodec(entry.encoding);
  if (codec == nullptr) {
    return newerVersion(fmt::format("encoding {} is unknown to this version", entry.encoding));
  }
  if (entry.type > ElementType::kBytes || entry.type < ElementType::kU8) {
    return newerVersion(
        fmt::format("element type {} is unknown to this version", static_cast<int>(entry.type)));
  }
  if (entry.type == ElementType::kBytes) return damaged("it holds text where numbers should be");
  BaseWords* base = nullptr;
  if (codec->needs_base) {
    if (Problem problem = baseWords(entry.base_column, depth, base)) return problem;
  }
  ByteView encoded;
  if (Problem problem = encodedBytes(entry, encodedBound(rows_), encoded)) return problem;
  bool decoded = false;
  if constexpr (sizeof(Word) == 8) {
    decoded = codec->decode(encoded, entry.type, base, out);
  } else {
    decoded = codec->decode32(encoded, entry.type, base, out);
  }
  return decoded ? Problem{} : damaged("its values do not decode");
}

Problem BlockContents::words(const ColumnEntry& entry, std::span<uint64_t> out) {
  for (size_t i = 0; i < bases_used_; ++i) {
    if (bases_[i].column != entry.column) continue;
    std::copy(bases_[i].values.words.begin(), bases_[i].values.words.end(), out.begin());
    return {};
  }
  return decode(entry, 0, out);
}

bool BlockContents::words(const ColumnEntry& entry, std::span<uint32_t> out) {
  if (entry.type == ElementType::kF64) return false;
  for (size_t i = 0; i < bases_used_; ++i) {
    if (bases_[i].column != entry.column) continue;
    const Buffer<uint64_t>& known = bases_[i].values.words;
    uint64_t all = 0;
    for (size_t row = 0; row < out.size(); ++row) {
      all |= known[row];
      out[row] = static_cast<uint32_t>(known[row]);
    }
    return all <= UINT32_MAX;
  }
  return !decode(entry, 0, out);
}

Problem BlockContents::baseWords(uint16_t column, size_t depth, BaseWords*& out) {
  for (size_t i = 0; i < bases_used_; ++i) {
    if (bases_[i].column != column) continue;
    out = &bases_[i].values;
    return {};
  }
  if (depth >= kMostBaseColumns || bases_used_ >= kMostBaseColumns) {
    return damaged("its columns refer to too many others, or to each other in a circle");
  }
  // Reserve the entry before decoding the column, which may first add an entry for its own base.
  Base& base = bases_[bases_used_++];
  base.column = kNoColumn;
  base.values.clear();
  base.values.words.resize(rows_);
  const ColumnEntry* entry = find(column);
  if (entry == nullptr) {
    std::fill(base.values.words.begin(), base.values.words.end(), 0);
  } else if (Problem problem = decode(*entry, depth + 1, std::span<uint64_t>(base.values.words))) {
    problem.text = fmt::format("column {}, which it refers to: {}", column, problem.text);
    if (&base == &bases_[bases_used_ - 1]) --bases_used_;
    return problem;
  }
  base.column = column;
  out = &base.values;
  return {};
}

Problem BlockContents::bytes(const ColumnEntry& entry, ByteView& out) {
  if (entry.type != ElementType::kBytes) return damaged("it holds numbers where text should be");
  if (entry.encoding != kRawEncoding) {
    return newerVersion(fmt::format("encoding {} is unknown to this version", entry.encoding));
  }
  return encodedBytes(entry, kMaxColumnBytes, out);
}

}  // namespace tracesmith::sbt
