// SPDX-License-Identifier: Apache-2.0
// Asks a time server for UTC, as a client of NTP (RFC 5905, version 4) that keeps no clock.
#pragma once

#include <cstdint>
#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/clocks/probe_burst.hpp"

namespace tracesmith {

struct ServerTime {
  clocks::OffsetBound utc;    ///< of UTC minus CLOCK_MONOTONIC, as far as the server is right
  uint32_t stratum = 0;       ///< servers between the server and a source of time, and itself
  int64_t least_trip_ns = 0;  ///< the quickest question and answer, without the time there
};

/// Asks `server` ("name" or "name:port") a few times in a row. kNotFound: it cannot be found, or
/// does not answer; kUnsupported: it has no time itself, or wants to be asked less often.
Result<ServerTime> askTimeServer(const std::string& server);

}  // namespace tracesmith
