// SPDX-License-Identifier: Apache-2.0
// A recording to be replayed: opened, of one process, planned.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tracesmith/replay/plan/replay_plan.hpp"

namespace tracesmith {

/// What is said, behind its path, of a recording of an earlier version.
constexpr const char* kNoSessionId =
    ": has no session id, as earlier versions made it: nothing says whether the trace beside it is "
    "of the same run";

struct ReplaySource {
  RecordingReader reader;
  ReplayPlan plan;
  recording::Process process;  ///< whose plan it is

  /// False when a part of the recording is missing: what is there is used.
  bool whole() const { return reader.complete() && reader.losses().empty() && plan.whole(); }

  /// `process`: its pid; none: the one that launched most. kNotFound names those that there are.
  static Result<ReplaySource> open(const std::string& path,
                                   std::optional<uint64_t> process = std::nullopt);
};

}  // namespace tracesmith
