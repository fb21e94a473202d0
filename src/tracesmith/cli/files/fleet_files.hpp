// SPDX-License-Identifier: Apache-2.0
// Summaries of many files for a command.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/cli/definition/command.hpp"
#include "tracesmith/fleet/fleet_run.hpp"

namespace tracesmith::cli {

/// Summarizes the files and folders of a command line, with progress on a terminal. Traces of other
/// tools are imported in memory.
Result<FleetRun> runFleetFiles(const std::vector<std::string>& inputs, FleetOptions options,
                               const Session& session);

/// Names the files that do not count, on standard error. Returns kExitPartlyRead if there are any
/// that could not be read, and kExitFailed if all could not.
int reportFleetFiles(const FleetRun& run);

}  // namespace tracesmith::cli
