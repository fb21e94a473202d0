// SPDX-License-Identifier: Apache-2.0
// What `clock status` shows: what the daemons that keep this host's clocks know.
#pragma once

#include <optional>
#include <string>

#include "tracesmith/capture/clocks/ptp_management.hpp"
#include "tracesmith/capture/clocks/time_daemon.hpp"
#include "tracesmith/export/output/json_writer.hpp"

namespace tracesmith::cli {

/// nullopt: no such daemon has the time.
struct ClockStatus {
  std::optional<DaemonTime> utc;  ///< of chrony or ntpd
  std::optional<PtpStatus> ptp;   ///< of ptp4l
};

/// `micro`: the text for µs.
std::string clockStatusText(const ClockStatus& status, const char* micro);
/// One object: the fields of chrony or ntpd, and "ptp".
void writeClockStatus(JsonWriter& json, const ClockStatus& status);

}  // namespace tracesmith::cli
