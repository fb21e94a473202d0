// SPDX-License-Identifier: Apache-2.0
// The encoders of columns. A column passes through here as 64-bit words (see words.hpp); an encoder
// turns words into bytes and back. To add one, append an entry to the table in the .cpp: its number
// is on disk for ever, and older readers skip the columns that use it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/format/sbt_layout.hpp"
#include "tracesmith/model/tables.hpp"

namespace tracesmith::sbt {

constexpr uint8_t kRawEncoding = 1;

struct ColumnCodec {
  uint8_t number;
  std::string_view name;
  /// Most bytes that one value can take; every encoder may use 16 bytes more for the column.
  uint32_t max_value_bytes;
  /// Bytes that `sample` would take, or a huge number where the encoder does not apply.
  uint64_t (*estimate)(std::span<const uint64_t> sample, ElementType type);
  /// Writes at `out`, which has room for the worst case; returns the end. Only called for columns
  /// for which `estimate` gave a number.
  uint8_t* (*encode)(std::span<const uint64_t> words, ElementType type, uint8_t* out);
  /// Fills all of `words`; false when `bytes` does not hold exactly that many values.
  bool (*decode)(ByteView bytes, ElementType type, std::span<uint64_t> words);
};

/// nullptr for a number that this version does not know.
const ColumnCodec* findCodec(uint8_t number);
std::span<const ColumnCodec> allCodecs();

/// The codec that should make `words` (at least one) smallest, judged by a sample; `hint` decides
/// between equals.
const ColumnCodec& chooseCodec(std::span<const uint64_t> words, ElementType type, Encoding hint);

/// Room that any encoder needs for `rows` values.
constexpr size_t encodedBound(size_t rows) { return rows * kMaxVarintBytes + 16; }

/// Bytes of one element as it lies in memory; 0 for a type without a fixed size.
constexpr uint32_t elementBytes(ElementType type) {
  switch (type) {
    case ElementType::kU8:
      return 1;
    case ElementType::kU32:
      return 4;
    case ElementType::kI64:
    case ElementType::kU64:
    case ElementType::kF64:
      return 8;
    case ElementType::kBytes:
      return 0;
  }
  return 0;
}

}  // namespace tracesmith::sbt
