// SPDX-License-Identifier: Apache-2.0
// Words split into byte planes: all lowest bytes, then all second bytes, and so on. In measured
// numbers the high bytes repeat while the low bytes are noise, so planes compress better.
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

/// Writes `count` words. fill(first, how many, to) provides them in pieces; it is called twice for
/// each piece and must give the same words. Needs 8 bytes per word plus one; returns the end.
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

/// Reads words from byte planes, starting anywhere.
class PlaneReader {
 public:
  /// False if `bytes`, which must outlive this object, does not have exactly `count` words.
  bool open(ByteView bytes, size_t count);
  /// Number of bytes of the largest word; 0: all words are 0.
  uint8_t width() const { return width_; }
  /// Whether words [first, first + n) are all 0. Fast if the first of them is not.
  bool zero(size_t first, size_t n) const;
  /// Reads words [first, first + n). The 32-bit version requires width() <= 4.
  void read(size_t first, size_t n, uint64_t* to) const;
  void read(size_t first, size_t n, uint32_t* to) const;

 private:
  const uint8_t* planes_ = nullptr;
  size_t count_ = 0;
  uint8_t width_ = 0;
};

}  // namespace tracesmith::sbt
