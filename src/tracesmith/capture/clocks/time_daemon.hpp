// SPDX-License-Identifier: Apache-2.0
// What the daemon that keeps this host's clock knows of UTC: chrony, or ntpd. Others do not tell
// how far off they can be.
//
// The bound is that of the NTP protocol (RFC 5905, 11.2): half of the delay to the time server's
// own source, and the dispersion on the way there. It takes for granted that this source has UTC.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tracesmith/base/result.hpp"
#include "tracesmith/clocks/probe_burst.hpp"

namespace tracesmith {

/// The name of UTC among the clocks of traces (table clock_offset).
constexpr std::string_view kUtcClock = "UTC";

/// What a daemon says at one moment. Times in ns.
struct DaemonTime {
  std::string daemon;       ///< "chrony" or "ntpd"
  uint32_t stratum = 0;     ///< servers between this host and a source of time, and itself
  std::string source;       ///< what the daemon follows: an address, or the name of a source
  int64_t behind_utc = 0;   ///< by how much CLOCK_REALTIME is, as far as the daemon knows
  int64_t error = 0;        ///< behind_utc is at most so far off
  int64_t root_delay = 0;   ///< to the source of time and back
  int64_t dispersion = 0;   ///< what clocks and measurements on the way there can be off
  clocks::OffsetBound utc;  ///< of UTC minus CLOCK_MONOTONIC
};

/// Asks the daemons of this host, which need be no others than those that run in its network
/// namespace. kNotFound: none answers; kUnsupported: one does, but has no time itself.
Result<DaemonTime> askTimeDaemon();

/// Of an answer of chrony, and of ntpd. `realtime_ns`: when it came. The parts that need the
/// monotonic clock are not set. kDamaged if it is no such answer.
Result<DaemonTime> chronyAnswer(std::string_view bytes, uint32_t number);
Result<DaemonTime> ntpdAnswer(std::string_view bytes, uint16_t number, int64_t realtime_ns);

}  // namespace tracesmith
