// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/encoding/codec_choice.hpp"

#include <algorithm>

#include "tracesmith/format/encoding/column_compression.hpp"

namespace tracesmith::sbt {
namespace {

constexpr size_t kTriedRows = 8192;
constexpr uint32_t kBlocksToAChoice = 64;

}  // namespace

const ColumnCodec& CodecChoice::choose(uint32_t column, ColumnWords words, ElementType type,
                                       ZSTD_CCtx* zstd) {
  Choice& choice = choices_[column];
  const bool has_base = words.base != nullptr;
  if (choice.blocks_left == 0 || choice.type != type || choice.had_base != has_base) {
    choice.codec = &tryAll(words, type, zstd);
    choice.type = type;
    choice.had_base = has_base;
    choice.blocks_left = kBlocksToAChoice;
    choice.bytes_per_row = 0;
  }
  --choice.blocks_left;
  return *choice.codec;
}

bool CodecChoice::shouldEncodeAgain(uint32_t column, size_t rows, size_t stored_bytes) {
  Choice& choice = choices_[column];
  const double bytes_per_row = static_cast<double>(stored_bytes) / static_cast<double>(rows);
  if (choice.bytes_per_row == 0) {
    choice.bytes_per_row = bytes_per_row;
    return false;
  }
  // Small blocks compress less well; a quarter more, and a few bytes, do not count as worse.
  if (static_cast<double>(stored_bytes) <=
      choice.bytes_per_row * 1.25 * static_cast<double>(rows) + 64) {
    return false;
  }
  choice.blocks_left = 0;
  return true;
}

const ColumnCodec& CodecChoice::tryAll(ColumnWords words, ElementType type, ZSTD_CCtx* zstd) {
  const size_t rows = std::min(words.words.size(), kTriedRows);
  BaseWords base;  // of the piece
  if (words.base != nullptr)
    base.words.assign(words.base->words.begin(),
                      words.base->words.begin() + static_cast<ptrdiff_t>(rows));
  const ColumnWords piece = {words.words.first(rows), &base};
  encoded_.resize(encodedBound(rows));
  compressed_.resize(ZSTD_compressBound(encoded_.size()));
  const ColumnCodec* best = nullptr;
  uint64_t best_score = ~uint64_t{0};
  for (const ColumnCodec& codec : allCodecs()) {
    // A constant piece does not mean that the column is constant.
    if (codec.number == kConstantEncoding || !codec.applies(type)) continue;
    if (codec.needs_base && words.base == nullptr) continue;
    const uint8_t* const end = codec.encode(piece, type, encoded_.data());
    auto bytes = static_cast<size_t>(end - encoded_.data());
    const size_t packed = compressColumn(zstd, {encoded_.data(), bytes}, compressed_.data());
    if (packed != 0) bytes = packed;
    const uint64_t score = uint64_t{bytes} * (100 + codec.reading_cost);
    if (score < best_score) {
      best = &codec;
      best_score = score;
    }
  }
  return *best;
}

}  // namespace tracesmith::sbt
