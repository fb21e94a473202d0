// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/hash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tracesmith {

uint64_t hash64(ByteView bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

Hash128 hash128(ByteView bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

}  // namespace tracesmith
