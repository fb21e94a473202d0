// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/byte_planes.hpp"

#include <algorithm>

namespace tracesmith::sbt {
namespace {

/// One loop for each width, so that the compiler makes vectors of it.
template <size_t kWidth>
void join(const uint8_t* planes, size_t n, uint64_t* words) {
  for (size_t i = 0; i < n; ++i) {
    uint64_t word = planes[i];
    for (size_t k = 1; k < kWidth; ++k) word |= static_cast<uint64_t>(planes[k * n + i]) << (8 * k);
    words[i] = word;
  }
}

}  // namespace

bool takePlanes(ByteView bytes, std::span<uint64_t> words) {
  if (bytes.empty() || bytes[0] > 8 || bytes.size() - 1 != bytes[0] * words.size()) return false;
  const uint8_t* const planes = bytes.data() + 1;
  const size_t n = words.size();
  switch (bytes[0]) {
    case 0:
      std::fill(words.begin(), words.end(), 0);
      break;
    case 1:
      join<1>(planes, n, words.data());
      break;
    case 2:
      join<2>(planes, n, words.data());
      break;
    case 3:
      join<3>(planes, n, words.data());
      break;
    case 4:
      join<4>(planes, n, words.data());
      break;
    case 5:
      join<5>(planes, n, words.data());
      break;
    case 6:
      join<6>(planes, n, words.data());
      break;
    case 7:
      join<7>(planes, n, words.data());
      break;
    default:
      join<8>(planes, n, words.data());
      break;
  }
  return true;
}

}  // namespace tracesmith::sbt
