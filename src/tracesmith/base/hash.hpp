// SPDX-License-Identifier: Apache-2.0
// Checksums and content hashes (XXH3).
#pragma once

#include <cstdint>

#include "tracesmith/base/bytes.hpp"

namespace tracesmith {

uint64_t hash64(ByteView bytes, uint64_t seed = 0);

struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;
};
Hash128 hash128(ByteView bytes);

}  // namespace tracesmith
