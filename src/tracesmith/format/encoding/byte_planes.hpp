// SPDX-License-Identifier: Apache-2.0
// Words split into planes: all lowest bytes, then all second bytes, and so on. High bytes of
// measured numbers repeat where low ones are noise, so a compressor finds more in planes.
//
//   [width w: 1 byte, 0 to 8][n lowest bytes]…[n highest bytes]
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "tracesmith/base/bytes.hpp"

namespace tracesmith::sbt {

/// Writes `count` words that `fill(first, how many, to)` gives in pieces, twice and alike. Needs 8
/// bytes for each word and one more; returns the end.
template <class Fill>
uint8_t* putPlanes(size_t count, Fill fill, uint8_t* out) {
  constexpr size_t kPiece = 1024;
  std::array<uint64_t, kPiece> piece;
  uint64_t all = 0;
  for (size_t at = 0; at < count; at += kPiece) {
    const size_t n = std::min(kPiece, count - at);
    fill(at, n, piece.data());
    for (size_t i = 0; i < n; ++i) all |= piece[i];
  }
  const auto width = static_cast<size_t>((std::bit_width(all) + 7) / 8);
  *out++ = static_cast<uint8_t>(width);
  for (size_t at = 0; at < count; at += kPiece) {
    const size_t n = std::min(kPiece, count - at);
    fill(at, n, piece.data());
    for (size_t k = 0; k < width; ++k) {
      uint8_t* const plane = out + k * count + at;
      for (size_t i = 0; i < n; ++i) plane[i] = static_cast<uint8_t>(piece[i] >> (8 * k));
    }
  }
  return out + width * count;
}

/// The words of planes, from any place on.
class PlaneReader {
 public:
  /// False when `bytes`, which must outlive this, is not exactly `count` words.
  bool open(ByteView bytes, size_t count);
  /// Bytes of the largest word; 0: all are 0.
  uint8_t width() const { return width_; }
  /// Whether words [first, first + n) are all 0. Quick where the first of them is not.
  bool zero(size_t first, size_t n) const;
  /// Words [first, first + n). `to` of 32 bits: only where width() is at most 4.
  void read(size_t first, size_t n, uint64_t* to) const;
  void read(size_t first, size_t n, uint32_t* to) const;

 private:
  const uint8_t* planes_ = nullptr;
  size_t count_ = 0;
  uint8_t width_ = 0;
};

}  // namespace tracesmith::sbt
