// SPDX-License-Identifier: Apache-2.0
// `replay --device simulated`: the same replays without a device, on a virtual clock.
#pragma once

#include <vector>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/cli/files/replay_source.hpp"
#include "tracesmith/replay/run/replay_run.hpp"

namespace tracesmith::cli {

/// Of a recording that was opened from `path`, with the durations of the trace beside it. `code`: 3
/// where that is damaged.
Result<std::vector<ReportTable>> simulateRecording(const std::string& path, ReplaySource& source,
                                                   const RunSettings& settings, int& code);

/// Of a trace that has no recording, another tool's too. `code`: 3 where it was damaged.
Result<std::vector<ReportTable>> simulateTraceFile(const std::string& path, ReplayOrder order,
                                                   int& code);

/// A trace, or one that can be imported, with no recording beside it.
bool isTraceAlone(const std::string& path);

/// Why `path` cannot be replayed: of a trace without a recording, with both ways to one that can;
/// else `error`.
Error withoutRecording(const std::string& path, Error error);

}  // namespace tracesmith::cli
