// SPDX-License-Identifier: Apache-2.0
// What people call devices and streams: by the numbers that their platform gave them, as programs
// and other tools do. Ids of ours are another thing: they count rows of tables.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// "device 0", "device 0: NVIDIA H100"; "unknown device" when the id leads nowhere.
std::string deviceName(const Trace& trace, DeviceId id);

/// The name that the program gave it, else "stream 7"; "no stream" when the id leads nowhere. Not
/// unique: each process, and each device, may have a stream 7.
std::string streamName(const Trace& trace, StreamId id);

/// The names of all streams, by indexOf(id), where no two are alike: "stream 7", or what tells the
/// streams 7 apart behind it: "stream 7 (device 1, pid 4711)". `within_devices`: only those of one
/// device need to be told apart, as where the device is said beside them.
std::vector<std::string> distinctStreamNames(const Trace& trace, bool within_devices = false);

}  // namespace tracesmith
