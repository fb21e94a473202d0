// SPDX-License-Identifier: Apache-2.0
// CUPTI's callbacks on the program's own threads: calls of the runtime and the driver, and creation
// of graphs. Each writes one record, without taking a lock or allocating memory.
#pragma once

#include <stdint.h>

namespace tracesmith::agent {

/// CUPTI's callback; see cupti::Callback. [hot]
void onCall(void*, int domain, uint32_t number, const void* data);

/// Selects the calls about launches, copies, memory and waits, or with TRACESMITH_CUDA_CALLS nearly
/// all calls, and records their names.
void enableCallbacks(void* subscriber);
void disableCallbacks(void* subscriber);

}  // namespace tracesmith::agent
