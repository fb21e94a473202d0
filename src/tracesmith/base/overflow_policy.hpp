// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tracesmith {

/// What a full ring does. Whatever is lost is counted.
enum class OverflowPolicy : uint8_t {
  DropOldest,  ///< the oldest records give way
  DropNewest,  ///< the new record is not taken
  Block,       ///< the writer waits for the reader; how long at most, the owner of the ring says
};

}  // namespace tracesmith
