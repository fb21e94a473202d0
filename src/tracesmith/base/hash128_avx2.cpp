// SPDX-License-Identifier: Apache-2.0
// Compiled with -mavx2 if the compiler supports it; not called on processors without AVX2.
#include "tracesmith/base/hash128.hpp"

#if defined(__AVX2__)
#define XXH_INLINE_ALL
#include <xxhash.h>
#endif

namespace tracesmith {

HashFunction hash128Avx2() {
#if defined(__AVX2__)
  return [](const void* at, uint64_t bytes) -> Hash128 {
    const XXH128_hash_t hash = XXH3_128bits(at, bytes);
    return {hash.low64, hash.high64};
  };
#else
  return nullptr;
#endif
}

}  // namespace tracesmith
