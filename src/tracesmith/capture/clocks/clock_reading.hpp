// SPDX-License-Identifier: Apache-2.0
// Any clock of this host in the clock of traces.
#pragma once

#include <time.h>

#include <optional>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/clocks/probe_burst.hpp"

namespace tracesmith {

/// `clock` minus CLOCK_MONOTONIC, by the closest of `tries` pairs of readings of CLOCK_MONOTONIC
/// around one of `clock`: their distance is the bound. nullopt, with errno, if `clock` cannot be
/// read.
inline std::optional<clocks::OffsetBound> readClockOffset(clockid_t clock, int tries) {
  int64_t before = 0, there = 0, after = 0;
  for (int i = 0; i < tries; ++i) {
    timespec time{};
    const int64_t from = monotonicNs();
    if (clock_gettime(clock, &time) != 0) return std::nullopt;
    const int64_t to = monotonicNs();
    if (i > 0 && to - from >= after - before) continue;
    there = static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
    before = from, after = to;
  }
  return clocks::OffsetBound{before + (after - before) / 2, there - after, there - before};
}

}  // namespace tracesmith
