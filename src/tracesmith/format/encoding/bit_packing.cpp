// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/encoding/bit_packing.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace tracesmith::sbt {
namespace {

uint8_t* putBits(std::span<const uint64_t> words, uint64_t smallest, unsigned width, uint8_t* out) {
  uint64_t pending = 0;  // bits not yet written as a byte
  unsigned count = 0;
  for (uint64_t word : words) {
    const uint64_t v = word - smallest;
    pending |= v << count;
    if (count + width < 64) {
      count += width;
      continue;
    }
    std::memcpy(out, &pending, 8);
    out += 8;
    const unsigned taken = 64 - count;
    count = count + width - 64;
    pending = taken < 64 && count > 0 ? v >> taken : 0;
  }
  const size_t rest = (count + 7) / 8;
  std::memcpy(out, &pending, rest);
  return out + rest;
}

/// `p` may be read up to `end`, which is at or after the last bit of the words.
template <class Word>
void takeBits(const uint8_t* p, const uint8_t* end, uint64_t smallest, unsigned width,
              std::span<Word> words) {
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  const auto room = static_cast<size_t>(end - p);
  size_t i = 0;
  uint64_t bit = 0;
  if (width <= 57 && room >= 8) {  // a word and its shift fit into one 8-byte load
    const size_t loads = width == 0 ? words.size() : ((room - 8) * 8 + 7) / width + 1;
    const size_t n = std::min(words.size(), loads);
    for (; i < n; ++i, bit += width) {
      words[i] =
          static_cast<Word>(smallest + ((loadFixed<uint64_t>(p + bit / 8) >> (bit % 8)) & mask));
    }
  }
  for (; i < words.size(); ++i, bit += width) {
    const uint8_t* at = p + bit / 8;
    uint8_t window[16] = {};
    std::memcpy(window, at, std::min<size_t>(9, static_cast<size_t>(end - at)));
    const unsigned shift = static_cast<unsigned>(bit % 8);
    uint64_t v = loadFixed<uint64_t>(window) >> shift;
    if (shift != 0) v |= static_cast<uint64_t>(window[8]) << (64 - shift);
    words[i] = static_cast<Word>(smallest + (v & mask));
  }
}

template <class Word>
bool take(ByteView bytes, std::span<Word> words) {
  constexpr uint64_t kLargest = std::numeric_limits<Word>::max();
  ByteReader reader(bytes);
  for (size_t at = 0; at < words.size(); at += kPackedGroup) {
    const auto group = words.subspan(at, std::min(kPackedGroup, words.size() - at));
    const uint64_t smallest = reader.varint();
    const auto width = reader.fixed<uint8_t>();
    if (width > 64) return false;
    if constexpr (sizeof(Word) < 8) {
      if (width > 32 || smallest > kLargest - ((uint64_t{1} << width) - 1)) return false;
    }
    const ByteView bits = reader.take((group.size() * width + 7) / 8);
    if (!reader.ok()) return false;
    takeBits(bits.data(), bytes.data() + bytes.size(), smallest, width, group);
  }
  return reader.remaining() == 0;
}

}  // namespace

uint8_t* putPacked(std::span<const uint64_t> words, uint8_t* out) {
  for (size_t at = 0; at < words.size(); at += kPackedGroup) {
    const auto group = words.subspan(at, std::min(kPackedGroup, words.size() - at));
    const auto [low, high] = std::minmax_element(group.begin(), group.end());
    const auto width = static_cast<unsigned>(std::bit_width(*high - *low));
    out = putVarint(out, *low);
    *out++ = static_cast<uint8_t>(width);
    out = putBits(group, *low, width, out);
  }
  return out;
}

bool takePacked(ByteView bytes, std::span<uint64_t> words) { return take(bytes, words); }
bool takePacked(ByteView bytes, std::span<uint32_t> words) { return take(bytes, words); }

}  // namespace tracesmith::sbt
