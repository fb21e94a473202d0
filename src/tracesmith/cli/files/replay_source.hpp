// SPDX-License-Identifier: Apache-2.0
// The recording that a command works on.
#pragma once

#include <optional>
#include <string>

#include "tracesmith/replay/plan/replay_source.hpp"

namespace tracesmith::cli {

/// `process`: its pid; none: the one that launched most. Says on standard error what of the file
/// could not be read.
Result<ReplaySource> openReplaySource(const std::string& path, std::optional<uint64_t> process);

}  // namespace tracesmith::cli
