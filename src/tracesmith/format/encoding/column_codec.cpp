// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/encoding/column_codec.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "tracesmith/format/encoding/bit_packing.hpp"
#include "tracesmith/format/encoding/byte_planes.hpp"

namespace tracesmith::sbt {
namespace {

bool anyNumber(ElementType type) { return type != ElementType::kBytes; }
bool integer(ElementType type) { return anyNumber(type) && type != ElementType::kF64; }

/// Reads one varint from [p, end); false if it is truncated or longer than 64 bits.
inline bool takeVarint(const uint8_t*& p, const uint8_t* end, uint64_t& out) {
  if (p != end && *p < 0x80) {
    out = *p++;
    return true;
  }
  uint64_t v = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (p == end) return false;
    const uint8_t b = *p++;
    if (shift == 63 && b > 1) return false;
    v |= static_cast<uint64_t>(b & 0x7f) << shift;
    if (b < 0x80) {
      out = v;
      return true;
    }
  }
  return false;
}

bool fits(const BaseWords* base, size_t rows) {
  return base != nullptr && base->words.size() == rows;
}

/// Whether a word does not fit; `all` is the bitwise or of all words.
template <class Word>
bool tooLarge(uint64_t all) {
  return all > std::numeric_limits<Word>::max();
}

constexpr size_t kPiece = 1024;  // words that fit into the first-level cache

// --- 1: raw: each element as in memory -------------------------------------------------------

uint8_t* encodeRaw(ColumnWords column, ElementType type, uint8_t* out) {
  const uint32_t width = elementBytes(type);
  for (uint64_t word : column.words) {
    std::memcpy(out, &word, width);  // little-endian: the low bytes come first
    out += width;
  }
  return out;
}

template <class Word>
bool decodeRaw(ByteView bytes, ElementType type, BaseWords*, std::span<Word> words) {
  const uint32_t width = elementBytes(type);
  if (width == 0 || bytes.size() != words.size() * width) return false;
  const uint8_t* p = bytes.data();
  uint64_t all = 0;
  for (Word& word : words) {
    uint64_t v = 0;
    std::memcpy(&v, p, width);
    word = static_cast<Word>(v);
    all |= v;
    p += width;
  }
  return !tooLarge<Word>(all);
}

// --- 2: constant: one element, for all rows -------------------------------------------------

uint8_t* encodeConstant(ColumnWords column, ElementType type, uint8_t* out) {
  return encodeRaw({column.words.first(1)}, type, out);
}

template <class Word>
bool decodeConstant(ByteView bytes, ElementType type, BaseWords*, std::span<Word> words) {
  if (words.empty() || !decodeRaw<Word>(bytes, type, nullptr, words.first(1))) return false;
  std::fill(words.begin() + 1, words.end(), words[0]);
  return true;
}

// --- 3: varint, 4: zigzag varint, 5: zigzag varint of the difference to the previous value ---

template <bool kZigzag, bool kDelta>
uint8_t* encodeVarint(ColumnWords column, ElementType, uint8_t* out) {
  uint64_t previous = 0;
  for (uint64_t value : column.words) {
    const uint64_t word = kDelta ? value - previous : value;
    out = putVarint(out, kZigzag || kDelta ? zigzag(static_cast<int64_t>(word)) : word);
    previous = value;
  }
  return out;
}

template <bool kZigzag, bool kDelta, class Word>
bool decodeVarint(ByteView bytes, ElementType, BaseWords*, std::span<Word> words) {
  const uint8_t* p = bytes.data();
  const uint8_t* const end = p + bytes.size();
  uint64_t previous = 0;
  uint64_t all = 0;
  for (Word& word : words) {
    uint64_t v;
    if (!takeVarint(p, end, v)) return false;
    if (kZigzag || kDelta) v = static_cast<uint64_t>(unzigzag(v));
    if (kDelta) v += previous;
    previous = v;
    all |= v;
    word = static_cast<Word>(v);
  }
  return p == end && !tooLarge<Word>(all);
}

// --- 6: byte planes; 7: of the differences to the previous value; 8: of the gaps between each
// value and the sum of the previous value and its base (a start after the predecessor's end) ----

uint8_t* encodeSplit(ColumnWords column, ElementType, uint8_t* out) {
  return putPlanes(
      column.words.size(),
      [&](size_t first, size_t n, uint64_t* to) { std::copy_n(&column.words[first], n, to); }, out);
}

template <class Word>
bool decodeSplit(ByteView bytes, ElementType, BaseWords*, std::span<Word> words) {
  PlaneReader planes;
  if (!planes.open(bytes, words.size()) || planes.width() > sizeof(Word)) return false;
  planes.read(0, words.size(), words.data());
  return true;
}

/// The first value is stored separately, because its magnitude differs from that of the
/// differences.
template <bool kGap>
uint8_t* encodeDifferences(ColumnWords column, ElementType, uint8_t* out) {
  const auto words = column.words;
  out = putVarint(out, zigzag(static_cast<int64_t>(words[0])));
  const auto differences = [&](size_t first, size_t n, uint64_t* to) {
    for (size_t i = first; i < first + n; ++i) {
      const uint64_t from = kGap ? words[i] + column.base->words[i] : words[i];
      *to++ = zigzag(static_cast<int64_t>(words[i + 1] - from));
    }
  };
  return putPlanes(words.size() - 1, differences, out);
}

template <bool kGap, class Word>
bool decodeDifferences(ByteView bytes, ElementType, BaseWords* base, std::span<Word> words) {
  if (words.empty() || (kGap && !fits(base, words.size()))) return false;
  const uint8_t* p = bytes.data();
  uint64_t first;
  if (!takeVarint(p, bytes.data() + bytes.size(), first)) return false;
  PlaneReader planes;
  if (!planes.open(bytes.subspan(static_cast<size_t>(p - bytes.data())), words.size() - 1)) {
    return false;
  }
  auto value = static_cast<uint64_t>(unzigzag(first));
  uint64_t all = value;
  words[0] = static_cast<Word>(value);
  Word* const out = words.data() + 1;
  std::array<uint64_t, kPiece> piece;
  for (size_t at = 0; at < words.size() - 1; at += kPiece) {
    const size_t n = std::min(kPiece, words.size() - 1 - at);
    if (!kGap && planes.zero(at, n)) {  // sorted ids: long runs of equal values
      std::fill_n(out + at, n, static_cast<Word>(value));
      continue;
    }
    planes.read(at, n, piece.data());
    for (size_t i = 0; i < n; ++i) {
      value += static_cast<uint64_t>(unzigzag(piece[i])) + (kGap ? base->words[at + i] : 0);
      all |= value;
      out[at + i] = static_cast<Word>(value);
    }
  }
  return !tooLarge<Word>(all);
}

}  // namespace

void BaseWords::clear() {
  words.clear();
  prepared_ = false;
}

void BaseWords::prepare() {
  prepared_ = true;
  begins_.clear();
  uint64_t all = 0;
  for (uint64_t word : words) all |= word;
  // Ids are usually few and small, and are then sorted by counting; otherwise by comparison.
  if (all >= std::max<uint64_t>(words.size(), 1024)) {
    order_.resize(words.size());
    std::iota(order_.begin(), order_.end(), 0u);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](uint32_t a, uint32_t b) { return words[a] < words[b]; });
    return;
  }
  begins_.assign(static_cast<size_t>(all) + 2, 0);
  for (uint64_t word : words) ++begins_[word + 1];
  for (size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
}

template <class Place>
void BaseWords::forEachRow(Place place) {
  if (!prepared_) prepare();
  if (begins_.empty()) {
    for (size_t i = 0; i < words.size(); ++i) place(order_[i], i);
    return;
  }
  counters_ = begins_;
  const uint64_t* const word = words.data();
  for (size_t i = 0; i < words.size(); ++i) place(i, size_t{counters_[word[i]]++});
}

namespace {

// --- 9: packed bits; 10: packed bits in the order of the base's values -----------------------

uint8_t* encodePacked(ColumnWords column, ElementType, uint8_t* out) {
  return putPacked(column.words, out);
}

template <class Word>
bool decodePacked(ByteView bytes, ElementType, BaseWords*, std::span<Word> words) {
  return takePacked(bytes, words);
}

uint8_t* encodeGrouped(ColumnWords column, ElementType, uint8_t* out) {
  Buffer<uint64_t>& grouped = column.base->scratch;
  grouped.resize(column.words.size());
  column.base->forEachRow([&](size_t row, size_t at) { grouped[at] = column.words[row]; });
  return putPacked(grouped, out);
}

Buffer<uint64_t>& scratchOf(BaseWords& base, uint64_t) { return base.scratch; }
Buffer<uint32_t>& scratchOf(BaseWords& base, uint32_t) { return base.scratch32; }

template <class Word>
bool decodeGrouped(ByteView bytes, ElementType, BaseWords* base, std::span<Word> words) {
  if (words.empty() || !fits(base, words.size())) return false;
  Buffer<Word>& grouped = scratchOf(*base, Word{});
  grouped.resize(words.size());
  if (!takePacked(bytes, std::span<Word>(grouped))) return false;
  base->forEachRow([&](size_t row, size_t at) { words[row] = grouped[at]; });
  return true;
}

#define TS_DECODERS(...) __VA_ARGS__<uint64_t>, __VA_ARGS__<uint32_t>
#define TS_VARINT(zigzag, delta) \
  decodeVarint<zigzag, delta, uint64_t>, decodeVarint<zigzag, delta, uint32_t>

constexpr std::array<ColumnCodec, 10> kCodecs = {{
    {kRawEncoding, "raw", false, 0, anyNumber, encodeRaw, TS_DECODERS(decodeRaw)},
    {kConstantEncoding, "constant", false, 0, anyNumber, encodeConstant,
     TS_DECODERS(decodeConstant)},
    {3, "varint", false, 8, integer, encodeVarint<false, false>, TS_VARINT(false, false)},
    {4, "zigzag", false, 8, integer, encodeVarint<true, false>, TS_VARINT(true, false)},
    {5, "delta", false, 8, integer, encodeVarint<true, true>, TS_VARINT(true, true)},
    {6, "split", false, 0, anyNumber, encodeSplit, TS_DECODERS(decodeSplit)},
    {7, "delta split", false, 0, integer, encodeDifferences<false>,
     decodeDifferences<false, uint64_t>, decodeDifferences<false, uint32_t>},
    {8, "gap split", true, 0, integer, encodeDifferences<true>, decodeDifferences<true, uint64_t>,
     decodeDifferences<true, uint32_t>},
    {9, "packed", false, 1, anyNumber, encodePacked, TS_DECODERS(decodePacked)},
    {10, "grouped packed", true, 4, anyNumber, encodeGrouped, TS_DECODERS(decodeGrouped)},
}};
#undef TS_DECODERS
#undef TS_VARINT

}  // namespace

std::span<const ColumnCodec> allCodecs() { return kCodecs; }

const ColumnCodec* findCodec(uint8_t number) {
  for (const ColumnCodec& codec : kCodecs) {
    if (codec.number == number) return &codec;
  }
  return nullptr;
}

}  // namespace tracesmith::sbt
