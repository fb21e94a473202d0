// SPDX-License-Identifier: Apache-2.0
// Begins and ends what CUPTI tells the agent: finds a library that fits the driver, subscribes,
// registers clock and buffers, enables what is captured. All with the control lock.
#pragma once

#include <stdint.h>

namespace tracesmith::agent {

/// Subscribes to CUPTI. On failure writes the reason to the shared file, which must exist, as must
/// a life. `is_late`: the driver may have been in use before.
bool beginCupti(bool is_late);

/// CUPTI tells no more. What is under way has `grace_ns` to end. Of what is ours its clock alone
/// stays with CUPTI, where it is one for all.
void endCupti(int64_t grace_ns);

/// Waits so long for what is under way: it comes within a moment, if the program has waited for it.
void flushForAWhile(int64_t grace_ns);
/// What is still under way comes as it is, without times.
void flushAll();

}  // namespace tracesmith::agent
