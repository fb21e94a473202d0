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

std::vector<std::string> ReplaySource::warnings(const std::string& path) const {
  std::vector<std::string> out;
  for (const DataLoss& loss : reader.losses()) {
    out.push_back(fmt::format("{}: at byte {}: {}", reader.path(), loss.offset, loss.reason));
  }
  if (reader.path() != path && reader.sessionId().empty()) {
    out.push_back(reader.path() + kNoSessionId);
  }
  if (!plan.whole()) {
    out.push_back(reader.path() + ": the last command is incomplete; those before it are replayed");
  }
  for (const ReplayStep& step : plan.steps()) {
    recording::End end;
    if (step.kind() != recording::CommandKind::kEnd || !decode(step.fields, end)) continue;
    if (end.reason.empty()) continue;
    out.push_back(fmt::format("{}: the recording of the program ended early: {}", reader.path(),
                              std::string(end.reason.begin(), end.reason.end())));
  }
  if (!reader.complete()) {
    out.push_back(
        reader.path() +
        ": is unfinished; its current content is replayed (`tracesmith recover` may find more)");
  }
  return out;
}

}  // namespace tracesmith
