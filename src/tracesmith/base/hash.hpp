// SPDX-License-Identifier: Apache-2.0
// Checksums and content hashes (XXH3).
#pragma once

#include <cstdint>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/hash128.hpp"

namespace tracesmith {

uint64_t hash64(ByteView bytes, uint64_t seed = 0);

inline Hash128 hash128(ByteView bytes) { return hash128(bytes.data(), bytes.size()); }

}  // namespace tracesmith
