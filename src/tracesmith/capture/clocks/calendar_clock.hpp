// SPDX-License-Identifier: Apache-2.0
// CLOCK_REALTIME in this host's clock.
#pragma once

#include "tracesmith/base/clock.hpp"
#include "tracesmith/clocks/probe_burst.hpp"

namespace tracesmith {

/// CLOCK_REALTIME minus CLOCK_MONOTONIC, by the closest of a few pairs of readings.
inline clocks::OffsetBound calendarOffset() {
  int64_t before = 0, calendar = 0, after = 0;
  for (int i = 0; i < 8; ++i) {
    const int64_t from = monotonicNs();
    const int64_t at = clockNs(CLOCK_REALTIME);
    const int64_t to = monotonicNs();
    if (i > 0 && to - from >= after - before) continue;
    before = from, calendar = at, after = to;
  }
  return {before + (after - before) / 2, calendar - after, calendar - before};
}

}  // namespace tracesmith
