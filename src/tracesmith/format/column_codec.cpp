// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/column_codec.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "tracesmith/format/bit_packing.hpp"
#include "tracesmith/format/byte_planes.hpp"

namespace tracesmith::sbt {
namespace {

bool anyNumber(ElementType type) { return type != ElementType::kBytes; }
bool integer(ElementType type) { return anyNumber(type) && type != ElementType::kF64; }

/// Reads one varint from [p, end); false when it is cut or longer than 64 bits.
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

bool fits(const BaseWords* base, std::span<const uint64_t> words) {
  return base != nullptr && base->words.size() == words.size();
}

// --- 1: raw: each element as it lies in memory ---------------------------------------------

uint8_t* encodeRaw(ColumnWords column, ElementType type, uint8_t* out) {
  const uint32_t width = elementBytes(type);
  for (uint64_t word : column.words) {
    std::memcpy(out, &word, width);  // little-endian: the low bytes come first
    out += width;
  }
  return out;
}

bool decodeRaw(ByteView bytes, ElementType type, BaseWords*, std::span<uint64_t> words) {
  const uint32_t width = elementBytes(type);
  if (width == 0 || bytes.size() != words.size() * width) return false;
  const uint8_t* p = bytes.data();
  for (uint64_t& word : words) {
    word = 0;
    std::memcpy(&word, p, width);
    p += width;
  }
  return true;
}

// --- 2: constant: one element, for all rows -------------------------------------------------

uint8_t* encodeConstant(ColumnWords column, ElementType type, uint8_t* out) {
  return encodeRaw({column.words.first(1)}, type, out);
}

bool decodeConstant(ByteView bytes, ElementType type, BaseWords*, std::span<uint64_t> words) {
  if (words.empty() || !decodeRaw(bytes, type, nullptr, words.first(1))) return false;
  std::fill(words.begin() + 1, words.end(), words[0]);
  return true;
}

// --- 3: varint, 4: zigzag varint, 5: zigzag varint of the difference to the value before -----

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

template <bool kZigzag, bool kDelta>
bool decodeVarint(ByteView bytes, ElementType, BaseWords*, std::span<uint64_t> words) {
  const uint8_t* p = bytes.data();
  const uint8_t* const end = p + bytes.size();
  uint64_t previous = 0;
  for (uint64_t& word : words) {
    uint64_t v;
    if (!takeVarint(p, end, v)) return false;
    if (kZigzag || kDelta) v = static_cast<uint64_t>(unzigzag(v));
    if (kDelta) v += previous;
    previous = v;
    word = v;
  }
  return p == end;
}

// --- 6: planes of bytes; 7: of the differences to the value before; 8: of the gaps between each
// value and the sum of the one before and its base (a start after the end of its predecessor) -----

uint8_t* encodeSplit(ColumnWords column, ElementType, uint8_t* out) {
  return putPlanes(
      column.words.size(),
      [&](size_t first, size_t n, uint64_t* to) { std::copy_n(&column.words[first], n, to); }, out);
}

bool decodeSplit(ByteView bytes, ElementType, BaseWords*, std::span<uint64_t> words) {
  return takePlanes(bytes, words);
}

/// The first value stands alone: it is of another size than the differences.
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

template <bool kGap>
bool decodeDifferences(ByteView bytes, ElementType, BaseWords* base, std::span<uint64_t> words) {
  if (words.empty() || (kGap && !fits(base, words))) return false;
  const uint8_t* p = bytes.data();
  uint64_t first;
  if (!takeVarint(p, bytes.data() + bytes.size(), first)) return false;
  if (!takePlanes(bytes.subspan(static_cast<size_t>(p - bytes.data())), words.subspan(1))) {
    return false;
  }
  uint64_t value = static_cast<uint64_t>(unzigzag(first));
  words[0] = value;
  for (size_t i = 1; i < words.size(); ++i) {
    value += static_cast<uint64_t>(unzigzag(words[i])) + (kGap ? base->words[i - 1] : 0);
    words[i] = value;
  }
  return true;
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
  // Ids are few and small, as a rule: then they are counted, and else sorted.
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

// --- 9: packed bits; 10: the same in the order of the base's values ----------------------------

uint8_t* encodePacked(ColumnWords column, ElementType, uint8_t* out) {
  return putPacked(column.words, out);
}

bool decodePacked(ByteView bytes, ElementType, BaseWords*, std::span<uint64_t> words) {
  return takePacked(bytes, words);
}

uint8_t* encodeGrouped(ColumnWords column, ElementType, uint8_t* out) {
  std::vector<uint64_t>& grouped = column.base->scratch;
  grouped.resize(column.words.size());
  column.base->forEachRow([&](size_t row, size_t at) { grouped[at] = column.words[row]; });
  return putPacked(grouped, out);
}

bool decodeGrouped(ByteView bytes, ElementType, BaseWords* base, std::span<uint64_t> words) {
  if (words.empty() || !fits(base, words)) return false;
  std::vector<uint64_t>& grouped = base->scratch;
  grouped.resize(words.size());
  if (!takePacked(bytes, grouped)) return false;
  base->forEachRow([&](size_t row, size_t at) { words[row] = grouped[at]; });
  return true;
}

constexpr std::array<ColumnCodec, 10> kCodecs = {{
    {kRawEncoding, "raw", false, 0, anyNumber, encodeRaw, decodeRaw},
    {kConstantEncoding, "constant", false, 0, anyNumber, encodeConstant, decodeConstant},
    {3, "varint", false, 8, integer, encodeVarint<false, false>, decodeVarint<false, false>},
    {4, "zigzag", false, 8, integer, encodeVarint<true, false>, decodeVarint<true, false>},
    {5, "delta", false, 8, integer, encodeVarint<true, true>, decodeVarint<true, true>},
    {6, "split", false, 0, anyNumber, encodeSplit, decodeSplit},
    {7, "delta split", false, 0, integer, encodeDifferences<false>, decodeDifferences<false>},
    {8, "gap split", true, 0, integer, encodeDifferences<true>, decodeDifferences<true>},
    {9, "packed", false, 1, anyNumber, encodePacked, decodePacked},
    {10, "grouped packed", true, 4, anyNumber, encodeGrouped, decodeGrouped},
}};

}  // namespace

std::span<const ColumnCodec> allCodecs() { return kCodecs; }

const ColumnCodec* findCodec(uint8_t number) {
  for (const ColumnCodec& codec : kCodecs) {
    if (codec.number == number) return &codec;
  }
  return nullptr;
}

}  // namespace tracesmith::sbt
