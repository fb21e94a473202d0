// SPDX-License-Identifier: Apache-2.0
// Starts and ends the agent's CUPTI subscription: finds a library that fits the driver, subscribes,
// registers clock and buffers, enables the captured kinds. Call everything with the control lock.
#pragma once

#include <stdint.h>

namespace tracesmith::agent {

/// Subscribes to CUPTI. Needs a life and its shared file; on failure writes the reason into that
/// file. `is_late`: the driver may have been in use before.
bool beginCupti(bool is_late);

/// Ends CUPTI's callbacks and records. Device work in progress has `grace_ns` to end. Only our
/// clock stays registered, if CUPTI has one clock for all subscribers.
void endCupti(int64_t grace_ns);

/// Waits up to `grace_ns` for device work in progress; its records come at once if the program has
/// already waited for it.
void flushForAWhile(int64_t grace_ns);
/// Flushes records of unfinished device work as they are, without times.
void flushAll();

}  // namespace tracesmith::agent
