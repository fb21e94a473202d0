// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/encoding/byte_planes.hpp"

#include <algorithm>
#include <cstring>

namespace tracesmith::sbt {
namespace {

// Uses wide vectors where the processor has them. Not with sanitizers, which are not initialised
// yet when resolvers run.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TS_WIDE_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define TS_WIDE_VECTORS
#endif

/// One loop per width, so that the compiler can vectorise it.
template <size_t kWidth, class Word>
inline __attribute__((always_inline)) void join(const uint8_t* planes, size_t stride, size_t n,
                                                Word* to) {
  for (size_t i = 0; i < n; ++i) {
    Word word = planes[i];
    for (size_t k = 1; k < kWidth; ++k) {
      word |= static_cast<Word>(static_cast<Word>(planes[k * stride + i]) << (8 * k));
    }
    to[i] = word;
  }
}

TS_WIDE_VECTORS void joinPlanes(const uint8_t* planes, uint8_t width, size_t stride, size_t n,
                                uint32_t* to) {
  switch (width) {
    case 0:
      std::fill(to, to + n, 0);
      break;
    case 1:
      join<1>(planes, stride, n, to);
      break;
    case 2:
      join<2>(planes, stride, n, to);
      break;
    case 3:
      join<3>(planes, stride, n, to);
      break;
    default:
      join<4>(planes, stride, n, to);
      break;
  }
}

TS_WIDE_VECTORS void joinPlanes(const uint8_t* planes, uint8_t width, size_t stride, size_t n,
                                uint64_t* to) {
  switch (width) {
    case 0:
      std::fill(to, to + n, 0);
      break;
    case 1:
      join<1>(planes, stride, n, to);
      break;
    case 2:
      join<2>(planes, stride, n, to);
      break;
    case 3:
      join<3>(planes, stride, n, to);
      break;
    case 4:
      join<4>(planes, stride, n, to);
      break;
    case 5:
      join<5>(planes, stride, n, to);
      break;
    case 6:
      join<6>(planes, stride, n, to);
      break;
    case 7:
      join<7>(planes, stride, n, to);
      break;
    default:
      join<8>(planes, stride, n, to);
      break;
  }
}

}  // namespace

bool PlaneReader::open(ByteView bytes, size_t count) {
  if (bytes.empty() || bytes[0] > 8 || bytes.size() - 1 != bytes[0] * count) return false;
  width_ = bytes[0];
  planes_ = bytes.data() + 1;
  count_ = count;
  return true;
}

bool PlaneReader::zero(size_t first, size_t n) const {
  for (size_t k = 0; k < width_; ++k) {
    const uint8_t* const plane = planes_ + k * count_ + first;
    if (n == 0) return true;
    if (plane[0] != 0 || std::memcmp(plane, plane + 1, n - 1) != 0) return false;
  }
  return true;
}

void PlaneReader::read(size_t first, size_t n, uint64_t* to) const {
  joinPlanes(planes_ + first, width_, count_, n, to);
}

void PlaneReader::read(size_t first, size_t n, uint32_t* to) const {
  joinPlanes(planes_ + first, width_, count_, n, to);
}

}  // namespace tracesmith::sbt
