// SPDX-License-Identifier: Apache-2.0
// Display names of devices and streams. They use the platform's numbers, as programs and other
// tools do, not TraceSmith's ids, which count rows of tables.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// "device 0", "device 0: NVIDIA H100"; "unknown device" for an invalid id.
std::string deviceName(const Trace& trace, DeviceId id);

/// The name given by the program, else "stream 7"; "no stream" for an invalid id. Not unique: each
/// process, and each device, may have a stream 7.
std::string streamName(const Trace& trace, StreamId id);

/// The names of all streams, indexed by indexOf(id), without duplicates: "stream 7", with an
/// addition if there are several: "stream 7 (device 1, pid 4711)". `within_devices`: names need to
/// be unique only within a device, for output that shows the device separately.
std::vector<std::string> distinctStreamNames(const Trace& trace, bool within_devices = false);

}  // namespace tracesmith
