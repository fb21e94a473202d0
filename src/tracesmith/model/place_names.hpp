// SPDX-License-Identifier: Apache-2.0
// What people call devices and streams: by the numbers that their platform gave them, as programs
// and other tools do. Ids of ours are another thing: they count rows of tables.
#pragma once

#include <string>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// "device 0", "device 0: NVIDIA H100"; "unknown device" when the id leads nowhere.
std::string deviceName(const Trace& trace, DeviceId id);

/// The name that the program gave it, else "stream 7"; "no stream" when the id leads nowhere. Not
/// unique: each process, and each device, may have a stream 7.
std::string streamName(const Trace& trace, StreamId id);

}  // namespace tracesmith
