// SPDX-License-Identifier: Apache-2.0
// CLOCK_REALTIME in this host's clock.
#pragma once

#include "tracesmith/capture/clocks/clock_reading.hpp"

namespace tracesmith {

/// CLOCK_REALTIME minus CLOCK_MONOTONIC, by the closest of a few pairs of readings.
inline clocks::OffsetBound calendarOffset() {
  return readClockOffset(CLOCK_REALTIME, 8).value_or(clocks::OffsetBound{});
}

}  // namespace tracesmith
