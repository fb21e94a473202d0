// SPDX-License-Identifier: Apache-2.0
// The clock of CUPTI's times, and its measurement against the host's.
#pragma once

#include <stdint.h>

namespace tracesmith::agent {

/// CUPTI's timestamp callback. Returns CLOCK_MONOTONIC in ns, since CUPTI's times are documented as
/// ns. With TRACESMITH_CUDA_CLOCK=ticks it returns the agent's own stamp, which may count processor
/// ticks.
uint64_t cuptiClock();

/// CUPTI's default clock; restored when a capture of an armed program ends.
uint64_t cuptiDefaultClock();

/// Writes the unit of cuptiClock() into the shared file. Call before registering the callback with
/// CUPTI. The choice is made once in the life of the process, because CUPTI keeps the callback.
void chooseCuptiClock();

/// Reads CUPTI's clock between two readings of the host's, and stores the three in the shared file.
/// Call with the control lock. Does nothing if the last sample is less than 100 ms old, unless
/// `now`.
void sampleCuptiClock(bool now);

}  // namespace tracesmith::agent
