// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/plan/replay_source.hpp"

#include <fmt/format.h>

namespace tracesmith {

Result<ReplaySource> ReplaySource::open(const std::string& path, std::optional<uint64_t> process) {
  TS_TRY(RecordingReader reader, RecordingReader::open(path));
  if (reader.path() != path) TS_CHECK_OK(checkSameSession(reader, path));
  std::optional<ReplayPlan> best;
  recording::Process best_process;
  std::string known;
  for (const recording::Process& p : reader.processes()) {
    known += fmt::format("\n  {}  {}", p.pid, p.command_line);
    if (process && *process != p.pid) continue;
    TS_TRY(Bytes commands, reader.commands(p.number));
    TS_TRY(ReplayPlan plan, ReplayPlan::make(std::move(commands)));
    if (best && plan.launches() <= best->launches()) continue;
    best = std::move(plan);
    best_process = p;
  }
  if (!best) {
    return fail(ErrorCode::kNotFound,
                known.empty() ? "holds no process" : "holds no such process; it has:" + known,
                path);
  }
  return ReplaySource{std::move(reader), std::move(*best), std::move(best_process)};
}

}  // namespace tracesmith
