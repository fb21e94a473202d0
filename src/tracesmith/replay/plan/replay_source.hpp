// SPDX-License-Identifier: Apache-2.0
// Opens a recording for replay, selects a process and plans its commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tracesmith/replay/plan/replay_plan.hpp"

namespace tracesmith {

/// Message for a recording of an earlier version; follows its path.
constexpr const char* kNoSessionId =
    ": has no session id, because an earlier version wrote it: the trace beside it may be of "
    "another run";

struct ReplaySource {
  RecordingReader reader;
  ReplayPlan plan;
  recording::Process process;  ///< the process that was planned

  /// False when a part of the recording is missing. The replay uses what is present.
  bool whole() const { return reader.complete() && reader.losses().empty() && plan.whole(); }

  /// What the user must know before trusting a replay: losses, a missing id, an early end. `path`:
  /// as given to open().
  std::vector<std::string> warnings(const std::string& path) const;
  /// `process`: its pid; none: the process with the most launches. kNotFound lists the processes in
  /// the recording.
  static Result<ReplaySource> open(const std::string& path,
                                   std::optional<uint64_t> process = std::nullopt);
};

}  // namespace tracesmith
