// SPDX-License-Identifier: Apache-2.0
// What `devices` ends with: what can be recorded here, and what to do about the rest.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/capture/devices/devices.hpp"

namespace tracesmith::cli {

/// What to do so that the backend can be recorded, with a command where one is known; "": nothing,
/// because it can be recorded, or because no program of this version can.
std::string adviceFor(const BackendReport& report);

/// The last paragraph of `devices`, with the commands to go on with.
std::string nextStepsText(const std::vector<BackendReport>& reports);

}  // namespace tracesmith::cli
