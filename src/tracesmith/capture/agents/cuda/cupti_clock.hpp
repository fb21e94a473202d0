// SPDX-License-Identifier: Apache-2.0
// The clock that CUPTI takes its times by, and what is measured of it.
#pragma once

#include <stdint.h>

namespace tracesmith::agent {

/// CUPTI's timestamp callback: CLOCK_MONOTONIC ns, since CUPTI's times are documented as ns; with
/// TRACESMITH_CUDA_CLOCK=ticks the agent's own stamp, which may count processor ticks.
uint64_t cuptiClock();

/// What CUPTI counts by itself; given back to it when a capture of an armed program ends.
uint64_t cuptiDefaultClock();

/// Writes into the shared file what cuptiClock() counts. Before CUPTI is given the callback. The
/// choice is made once in the life of the process, for CUPTI keeps the callback.
void chooseCuptiClock();

/// Reads CUPTI's clock between two readings of the host's, and leaves the three in the shared file.
/// With the control lock; at most ten times a second it does so, else nothing, unless `now`.
void sampleCuptiClock(bool now);

}  // namespace tracesmith::agent
