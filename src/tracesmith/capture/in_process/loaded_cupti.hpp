// SPDX-License-Identifier: Apache-2.0
// The libcupti that this process has loaded. The agent and the program usually use the same one.
#pragma once

#include <cstdint>

namespace tracesmith {

/// Version; 0: none is loaded.
uint32_t loadedCuptiVersion();

/// Makes CUPTI deliver all completed records to the agent before this returns. Does nothing without
/// a libcupti.
void flushLoadedCupti();

}  // namespace tracesmith
