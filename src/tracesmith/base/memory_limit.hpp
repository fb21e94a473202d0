// SPDX-License-Identifier: Apache-2.0
// How much memory this process can take before the machine, or its container, is short of it.
#pragma once

#include <cstdint>

namespace tracesmith {

/// Three quarters of what is available now, or of what the control group may have, whichever is
/// less. Where the system says neither: 8 GiB.
uint64_t memoryToTake();

}  // namespace tracesmith
