// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/byte_planes.hpp"

#include <algorithm>

namespace tracesmith::sbt {
namespace {

// With the wide vectors of processors that have them. Resolvers run before a sanitizer is ready.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TS_WIDE_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define TS_WIDE_VECTORS
#endif

/// One loop for each width, so that the compiler makes vectors of it.
template <size_t kWidth>
inline __attribute__((always_inline)) void join(const uint8_t* planes, size_t n, uint64_t* words) {
  for (size_t i = 0; i < n; ++i) {
    uint64_t word = planes[i];
    for (size_t k = 1; k < kWidth; ++k) word |= static_cast<uint64_t>(planes[k * n + i]) << (8 * k);
    words[i] = word;
  }
}

TS_WIDE_VECTORS void joinPlanes(const uint8_t* planes, uint8_t width, size_t n, uint64_t* words) {
  switch (width) {
    case 0:
      std::fill(words, words + n, 0);
      break;
    case 1:
      join<1>(planes, n, words);
      break;
    case 2:
      join<2>(planes, n, words);
      break;
    case 3:
      join<3>(planes, n, words);
      break;
    case 4:
      join<4>(planes, n, words);
      break;
    case 5:
      join<5>(planes, n, words);
      break;
    case 6:
      join<6>(planes, n, words);
      break;
    case 7:
      join<7>(planes, n, words);
      break;
    default:
      join<8>(planes, n, words);
      break;
  }
}

}  // namespace

bool takePlanes(ByteView bytes, std::span<uint64_t> words) {
  if (bytes.empty() || bytes[0] > 8 || bytes.size() - 1 != bytes[0] * words.size()) return false;
  joinPlanes(bytes.data() + 1, bytes[0], words.size(), words.data());
  return true;
}

}  // namespace tracesmith::sbt
