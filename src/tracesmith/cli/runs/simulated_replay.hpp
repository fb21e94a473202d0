// SPDX-License-Identifier: Apache-2.0
// `replay --device simulated`: replays on a virtual clock, without a device.
#pragma once

#include <vector>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/cli/files/replay_source.hpp"
#include "tracesmith/replay/run/replay_run.hpp"

namespace tracesmith::cli {

/// Simulates a recording opened from `path`, with the durations of the trace beside it. Sets `code`
/// to 3 if that trace is damaged.
Result<std::vector<ReportTable>> simulateRecording(const std::string& path, ReplaySource& source,
                                                   const RunSettings& settings, int& code);

/// Simulates a trace without a recording, including imported ones. Sets `code` to 3 if it is
/// damaged.
Result<std::vector<ReportTable>> simulateTraceFile(const std::string& path, ReplayOrder order,
                                                   int& code);

/// Whether `path` is a trace, or can be imported as one, and has no recording beside it.
bool isTraceAlone(const std::string& path);

/// Explains why `path` cannot be replayed. For a trace without a recording, names both ways to get
/// one; otherwise returns `error`.
Error withoutRecording(const std::string& path, Error error);

}  // namespace tracesmith::cli
