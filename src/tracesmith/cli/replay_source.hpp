// SPDX-License-Identifier: Apache-2.0
// A recording that a command works on: opened, of one process, planned.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tracesmith/replay/replay_plan.hpp"

namespace tracesmith::cli {

struct ReplaySource {
  RecordingReader reader;
  ReplayPlan plan;
  recording::Process process;  ///< whose plan it is
};

/// `process`: its pid; none: the one that launched most. Says on standard error what of the file
/// could not be read.
Result<ReplaySource> openReplaySource(const std::string& path, std::optional<uint64_t> process);

}  // namespace tracesmith::cli
