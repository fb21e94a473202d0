// SPDX-License-Identifier: Apache-2.0
// What CUPTI calls back on the program's own threads: calls of the runtime and the driver, and
// graphs that are made. One record each, without a lock and without memory.
#pragma once

#include <stdint.h>

namespace tracesmith::agent {

/// CUPTI's callback; see cupti::Callback. [hot]
void onCall(void*, int domain, uint32_t number, const void* data);

/// Chooses the calls that are about launches, copies, memory and waits, or with
/// TRACESMITH_CUDA_CALLS nearly all, and tells their names.
void enableCallbacks(void* subscriber);
void disableCallbacks(void* subscriber);

}  // namespace tracesmith::agent
