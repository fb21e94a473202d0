// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/files/fleet_files.hpp"

#include <fmt/format.h>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/progress_line.hpp"

namespace tracesmith::cli {

Result<FleetRun> runFleetFiles(const std::vector<std::string>& inputs, FleetOptions options,
                               const Session& session) {
  const std::vector<std::string> files = findFleetFiles(inputs);
  if (files.empty()) {
    return fail(ErrorCode::kNotFound,
                "there are no traces (.sbt) and no summaries (.summary) in it", inputs.front());
  }
  ProgressLine progress(session.terminal.err_is_terminal);
  constexpr int64_t kBetweenNs = 100'000'000;
  int64_t last_ns = monotonicNs();
  options.read_other = [](const std::string& path) -> Result<Trace> {
    TS_TRY(TraceFile file, readTraceFile(path));
    return std::move(file.trace);
  };
  options.on_progress = [&](size_t done) {
    const int64_t now = monotonicNs();
    if (now - last_ns < kBetweenNs) return;
    last_ns = now;
    progress.show(fmt::format("{} of {} files", done, files.size()));
  };
  FleetRun run = runFleet(files, options);
  progress.clear();
  TS_CHECK_OK(checkCancelled());
  return run;
}

int reportFleetFiles(const FleetRun& run) {
  for (const FleetFile& file : run.files) {
    if (file.state == FleetFile::State::kFailed) {
      say(file.message + " (it does not count)");
    } else if (file.state == FleetFile::State::kRepeated) {
      sayWarning(fmt::format("{}: {}; it counts once", file.path, file.message));
    }
  }
  const size_t failed = run.count(FleetFile::State::kFailed);
  return failed == 0 ? kExitOk : failed < run.files.size() ? kExitPartlyRead : kExitFailed;
}

}  // namespace tracesmith::cli
