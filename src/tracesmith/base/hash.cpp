// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/hash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tracesmith {

uint64_t hash64(ByteView bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace tracesmith
