// SPDX-License-Identifier: Apache-2.0
// The hardware clock of a network adapter (PTP hardware clock, PHC), in the clock of traces.
//
// It is a clock of its own. Where ptp4l keeps it with hardware time stamps it has the time of PTP,
// which is TAI as a rule; where nobody keeps it, it counts from an arbitrary moment.
#pragma once

#include <cstdint>
#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/clocks/probe_burst.hpp"

namespace tracesmith {

/// The number N of the device /dev/ptpN that is the clock of a network adapter ("eth0").
/// kNotFound: there is no such adapter; kUnsupported: it has no hardware clock.
Result<int> findHardwareClock(const std::string& interface);

/// The clock of the device `path` ("/dev/ptp0") minus CLOCK_MONOTONIC, by the tightest of 16 pairs
/// of readings. kPermission: the device may not be opened; kUnsupported: it is no clock.
Result<clocks::OffsetBound> readHardwareClock(const std::string& path);

/// Finds the clock of a network adapter and reads it.
Result<clocks::OffsetBound> askHardwareClock(const std::string& interface);

}  // namespace tracesmith
