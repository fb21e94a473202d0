// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tracesmith {

/// What happens when a ring is full. Every lost record is counted.
enum class OverflowPolicy : uint8_t {
  DropOldest,  ///< the oldest records are overwritten
  DropNewest,  ///< the new record is dropped
  Block,       ///< the writer waits for the reader; the ring's owner sets the time limit
};

}  // namespace tracesmith
