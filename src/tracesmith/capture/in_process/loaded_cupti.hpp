// SPDX-License-Identifier: Apache-2.0
// The libcupti that this process has loaded: the agent's or the program's, which are one as a rule.
#pragma once

#include <cstdint>

namespace tracesmith {

/// 0: none is loaded.
uint32_t loadedCuptiVersion();

/// Has what is complete delivered to the agent, before this returns. Nothing without a libcupti.
void flushLoadedCupti();

}  // namespace tracesmith
