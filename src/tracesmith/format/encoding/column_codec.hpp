// SPDX-License-Identifier: Apache-2.0
// The encoders of columns. A column is processed as 64-bit words (see column_words.hpp); an encoder
// converts words to bytes and back. To add one, append an entry to the table in the .cpp. Its
// number is on disk for good; older readers skip the columns that use it.
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

/// The values of a column to which other columns of its block are related.
struct BaseWords {
  Buffer<uint64_t> words;
  // Scratch space for codecs, kept between calls.
  Buffer<uint64_t> scratch;
  Buffer<uint32_t> scratch32;
  void clear();
  /// Calls place(row, position) for each row, where position is its rank when rows are sorted by
  /// word. Rows with equal words keep their order.
  template <class Place>
  void forEachRow(Place place);

 private:
  void prepare();
  bool prepared_ = false;
  std::vector<uint32_t> begins_;  // start of each word's rows; empty: the words are too large
  std::vector<uint32_t> counters_;
  std::vector<uint32_t> order_;  // used instead
};

/// The input of an encoder: a column's values, and a base with as many values for encoders that
/// need one.
struct ColumnWords {
  std::span<const uint64_t> words;
  BaseWords* base = nullptr;
};

struct ColumnCodec {
  uint8_t number;
  std::string_view name;
  bool needs_base;
  /// The cost of decoding, in percent of the bytes that another encoder must save to be preferred.
  uint8_t reading_cost;
  bool (*applies)(ElementType type);
  /// Writes to `out`, which has encodedBound() bytes; returns the end. Only called if applies() is
  /// true, with at least one word; kConstant only with equal words.
  uint8_t* (*encode)(ColumnWords column, ElementType type, uint8_t* out);
  /// Fills all of `words`; false if `bytes` does not have exactly that many values. `base` has as
  /// many words if the codec needs one.
  bool (*decode)(ByteView bytes, ElementType type, BaseWords* base, std::span<uint64_t> words);
  /// The same for columns of 32 bits; false also if a value is, or may be, too large.
  bool (*decode32)(ByteView bytes, ElementType type, BaseWords* base, std::span<uint32_t> words);
};

/// nullptr for a number unknown to this version.
const ColumnCodec* findCodec(uint8_t number);
std::span<const ColumnCodec> allCodecs();

/// Bytes that any encoder needs at most for `rows` values.
constexpr size_t encodedBound(size_t rows) { return rows * kMaxVarintBytes + 16; }

/// Size of one element in memory, in bytes; 0 for a type without a fixed size.
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
