// SPDX-License-Identifier: Apache-2.0
// XXH3 of chunks. Hashing is most of the cost of recording large transfers, so it uses the widest
// vectors of the processor. The hash does not depend on the vector width.
#pragma once

#include <stdint.h>

#include "tracesmith/recording/content.hpp"

namespace tracesmith::record {

using HashBytes = recording::ContentHash (*)(const void* at, uint64_t bytes);

recording::ContentHash hashBytes(const void* at, uint64_t bytes);

/// nullptr: this library was compiled for a processor without AVX2.
HashBytes hashBytesAvx2();

}  // namespace tracesmith::record
