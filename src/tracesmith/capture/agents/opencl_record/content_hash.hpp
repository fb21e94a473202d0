// SPDX-License-Identifier: Apache-2.0
// XXH3 of chunks. Hashing is most of what recording large transfers costs, so it uses the widest
// vectors that the processor has; the hash is the same with any.
#pragma once

#include <stdint.h>

#include "tracesmith/recording/content.hpp"

namespace tracesmith::record {

using HashBytes = recording::ContentHash (*)(const void* at, uint64_t bytes);

recording::ContentHash hashBytes(const void* at, uint64_t bytes);

/// nullptr: this library was built for a processor without AVX2's instructions.
HashBytes hashBytesAvx2();

}  // namespace tracesmith::record
