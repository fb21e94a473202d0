// SPDX-License-Identifier: Apache-2.0
// XXH3, 128 bits, seed 0: the hash of content. Hashing is most of the cost of recording and
// comparing large transfers, so it uses the widest vectors of the processor; the result does not
// depend on them. Agents include this: it allocates nothing and needs only libc.
#pragma once

#include <stdint.h>

namespace tracesmith {

struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;
};

Hash128 hash128(const void* at, uint64_t bytes);

using HashFunction = Hash128 (*)(const void* at, uint64_t bytes);
/// nullptr: it was compiled for a processor without AVX2.
HashFunction hash128Avx2();

}  // namespace tracesmith
