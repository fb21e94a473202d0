// SPDX-License-Identifier: Apache-2.0
// Host clocks. Every host time stamp in TraceSmith is CLOCK_MONOTONIC in ns unless its name says
// otherwise.
#pragma once

#include <time.h>

#include <cstdint>

namespace tracesmith {

inline int64_t clockNs(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

inline int64_t monotonicNs() { return clockNs(CLOCK_MONOTONIC); }

/// The current CLOCK_MONOTONIC time in ns. [any thread]
inline uint64_t getCurrentTimestamp() { return static_cast<uint64_t>(monotonicNs()); }

}  // namespace tracesmith
