// SPDX-License-Identifier: Apache-2.0
// The hash of a chunk of content.
#pragma once

#include <stdint.h>

#include "tracesmith/base/hash128.hpp"
#include "tracesmith/recording/content.hpp"

namespace tracesmith::record {

inline recording::ContentHash hashBytes(const void* at, uint64_t bytes) {
  const Hash128 hash = hash128(at, bytes);
  return {hash.low, hash.high};
}

}  // namespace tracesmith::record
