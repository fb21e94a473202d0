// SPDX-License-Identifier: Apache-2.0
// The encoders of columns. A column passes through here as 64-bit words (see column_words.hpp); an
// encoder turns words into bytes and back. To add one, append an entry to the table in the .cpp:
// its number is on disk for ever, and older readers skip the columns that use it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/format/encoding/sbt_layout.hpp"
#include "tracesmith/model/tables.hpp"

namespace tracesmith::sbt {

constexpr uint8_t kRawEncoding = 1;
constexpr uint8_t kConstantEncoding = 2;

/// The values of a column that others of its block are related to.
struct BaseWords {
  Buffer<uint64_t> words;
  // For codecs: room that is not given back between calls.
  Buffer<uint64_t> scratch;
  Buffer<uint32_t> scratch32;
  void clear();
  /// Calls place(row, position) for each row: its position in the order of the words, rows with
  /// equal words in their own order.
  template <class Place>
  void forEachRow(Place place);

 private:
  void prepare();
  bool prepared_ = false;
  std::vector<uint32_t> begins_;  // of each word's rows; none: the words are too large
  std::vector<uint32_t> counters_;
  std::vector<uint32_t> order_;  // instead
};

/// What an encoder sees of a column: its values, and the base with as many for the encoders that
/// need one.
struct ColumnWords {
  std::span<const uint64_t> words;
  BaseWords* base = nullptr;
};

struct ColumnCodec {
  uint8_t number;
  std::string_view name;
  bool needs_base;
  /// What it costs a reader, in percent of the bytes that another must save to be preferred.
  uint8_t reading_cost;
  bool (*applies)(ElementType type);
  /// Writes at `out`, which has encodedBound() bytes; returns the end. Only called where it
  /// applies, for at least one word; kConstant only for words that are all the same.
  uint8_t* (*encode)(ColumnWords column, ElementType type, uint8_t* out);
  /// Fills all of `words`; false when `bytes` does not hold exactly that many values. `base` has as
  /// many words where the codec needs one.
  bool (*decode)(ByteView bytes, ElementType type, BaseWords* base, std::span<uint64_t> words);
  /// The same for columns of 32 bits; false also where a value is, or may be, too large for them.
  bool (*decode32)(ByteView bytes, ElementType type, BaseWords* base, std::span<uint32_t> words);
};

/// nullptr for a number that this version does not know.
const ColumnCodec* findCodec(uint8_t number);
std::span<const ColumnCodec> allCodecs();

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
