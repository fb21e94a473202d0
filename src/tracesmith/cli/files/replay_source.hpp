// SPDX-License-Identifier: Apache-2.0
// Opens the recording for a command.
#pragma once

#include <optional>
#include <string>

#include "tracesmith/replay/plan/replay_source.hpp"

namespace tracesmith::cli {

/// `process`: a pid; empty: the process with the most launches. Prints to standard error which
/// parts of the file could not be read.
Result<ReplaySource> openReplaySource(const std::string& path, std::optional<uint64_t> process);

}  // namespace tracesmith::cli
