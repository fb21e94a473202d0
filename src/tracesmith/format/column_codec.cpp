// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/column_codec.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace tracesmith::sbt {
namespace {

constexpr uint64_t kDoesNotApply = ~uint64_t{0};

uint64_t varintBytes(uint64_t v) {
  return v == 0 ? 1 : (static_cast<uint64_t>(std::bit_width(v)) + 6) / 7;
}

/// Differences wrap around like the words do, so that every pair of values has one.
uint64_t deltaOf(uint64_t value, uint64_t previous) {
  return zigzag(static_cast<int64_t>(value - previous));
}

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

// --- 1: raw: each element as it lies in memory ---------------------------------------------

uint64_t estimateRaw(std::span<const uint64_t> sample, ElementType type) {
  return sample.size() * elementBytes(type);
}

uint8_t* encodeRaw(std::span<const uint64_t> words, ElementType type, uint8_t* out) {
  const uint32_t width = elementBytes(type);
  for (uint64_t word : words) {
    std::memcpy(out, &word, width);  // little-endian: the low bytes come first
    out += width;
  }
  return out;
}

bool decodeRaw(ByteView bytes, ElementType type, std::span<uint64_t> words) {
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

uint64_t estimateConstant(std::span<const uint64_t> sample, ElementType type) {
  const bool equal =
      std::all_of(sample.begin(), sample.end(), [&](uint64_t word) { return word == sample[0]; });
  return equal ? elementBytes(type) : kDoesNotApply;
}

uint8_t* encodeConstant(std::span<const uint64_t> words, ElementType type, uint8_t* out) {
  return encodeRaw(words.first(1), type, out);
}

bool decodeConstant(ByteView bytes, ElementType type, std::span<uint64_t> words) {
  if (words.empty() || !decodeRaw(bytes, type, words.first(1))) return false;
  std::fill(words.begin() + 1, words.end(), words[0]);
  return true;
}

// --- 3: varint, 4: zigzag varint, 5: zigzag varint of the difference to the value before -----

template <bool kZigzag, bool kDelta>
uint64_t wordOf(uint64_t value, uint64_t previous) {
  if (kDelta) return deltaOf(value, previous);
  return kZigzag ? zigzag(static_cast<int64_t>(value)) : value;
}

template <bool kZigzag, bool kDelta>
uint64_t estimateVarint(std::span<const uint64_t> sample, ElementType type) {
  if (type == ElementType::kF64 || type == ElementType::kBytes) return kDoesNotApply;
  uint64_t bytes = 0;
  uint64_t previous = kDelta ? sample[0] : 0;  // the first value is a difference once per column
  for (uint64_t value : sample) {
    bytes += varintBytes(wordOf<kZigzag, kDelta>(value, previous));
    previous = value;
  }
  return bytes;
}

template <bool kZigzag, bool kDelta>
uint8_t* encodeVarint(std::span<const uint64_t> words, ElementType, uint8_t* out) {
  uint64_t previous = 0;
  for (uint64_t value : words) {
    out = putVarint(out, wordOf<kZigzag, kDelta>(value, previous));
    previous = value;
  }
  return out;
}

template <bool kZigzag, bool kDelta>
bool decodeVarint(ByteView bytes, ElementType, std::span<uint64_t> words) {
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

constexpr std::array<ColumnCodec, 5> kCodecs = {{
    {kRawEncoding, "raw", 8, estimateRaw, encodeRaw, decodeRaw},
    {2, "constant", 0, estimateConstant, encodeConstant, decodeConstant},
    {3, "varint", kMaxVarintBytes, estimateVarint<false, false>, encodeVarint<false, false>,
     decodeVarint<false, false>},
    {4, "zigzag", kMaxVarintBytes, estimateVarint<true, false>, encodeVarint<true, false>,
     decodeVarint<true, false>},
    {5, "delta", kMaxVarintBytes, estimateVarint<true, true>, encodeVarint<true, true>,
     decodeVarint<true, true>},
}};

/// Which encoder wins between equals. Delta is the better food for a compressor when values grow.
uint8_t favourite(Encoding hint) {
  switch (hint) {
    case Encoding::kTime:
      return 5;
    case Encoding::kId:
    case Encoding::kCount:
      return 3;
    case Encoding::kReal:
      return kRawEncoding;
  }
  return kRawEncoding;
}

constexpr size_t kSampleRuns = 16;
constexpr size_t kSampleRunRows = 32;

}  // namespace

std::span<const ColumnCodec> allCodecs() { return kCodecs; }

const ColumnCodec* findCodec(uint8_t number) {
  for (const ColumnCodec& codec : kCodecs) {
    if (codec.number == number) return &codec;
  }
  return nullptr;
}

const ColumnCodec& chooseCodec(std::span<const uint64_t> words, ElementType type, Encoding hint) {
  // A sample says little about whether *all* values are equal; that is looked at in full, and ends
  // at the first difference.
  const ColumnCodec& constant = kCodecs[1];
  if (constant.estimate(words, type) != kDoesNotApply) return constant;

  // Runs of neighbours, because differences only show between neighbours.
  std::array<uint64_t, kSampleRuns * kSampleRunRows> sample;
  std::span<const uint64_t> seen = words;
  if (words.size() > sample.size()) {
    for (size_t run = 0; run < kSampleRuns; ++run) {
      const size_t at = run * (words.size() - kSampleRunRows) / (kSampleRuns - 1);
      std::copy_n(words.begin() + static_cast<ptrdiff_t>(at), kSampleRunRows,
                  sample.begin() + static_cast<ptrdiff_t>(run * kSampleRunRows));
    }
    seen = sample;
  }
  const ColumnCodec* best = nullptr;
  uint64_t best_bytes = kDoesNotApply;
  const uint8_t preferred = favourite(hint);
  for (const ColumnCodec& codec : kCodecs) {
    if (&codec == &constant) continue;  // the sample may be constant where the column is not
    const uint64_t bytes = codec.estimate(seen, type);
    if (bytes < best_bytes || (bytes == best_bytes && codec.number == preferred)) {
      best = &codec;
      best_bytes = bytes;
    }
  }
  return *best;
}

}  // namespace tracesmith::sbt
