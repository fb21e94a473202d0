// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/files/replay_source.hpp"

#include <fmt/format.h>

#include "tracesmith/cli/terminal/messages.hpp"

namespace tracesmith::cli {

Result<ReplaySource> openReplaySource(const std::string& path, std::optional<uint64_t> process) {
  TS_TRY(ReplaySource source, ReplaySource::open(path, process));
  const RecordingReader& reader = source.reader;
  for (const DataLoss& loss : reader.losses()) {
    sayWarning(fmt::format("{}: at byte {}: {}", reader.path(), loss.offset, loss.reason));
  }
  if (reader.path() != path && reader.sessionId().empty()) {
    sayWarning(reader.path() + kNoSessionId);
  }
  if (!source.plan.whole()) {
    sayWarning(reader.path() + ": the last command is incomplete; those before it are replayed");
  }
  for (const ReplayStep& step : source.plan.steps()) {
    recording::End end;
    if (step.kind() != recording::CommandKind::kEnd || !decode(step.fields, end)) continue;
    if (!end.reason.empty()) {
      sayWarning(fmt::format("{}: the recording of the program ended early: {}", reader.path(),
                             std::string(end.reason.begin(), end.reason.end())));
    }
  }
  if (!reader.complete()) {
    sayWarning(
        reader.path() +
        ": is unfinished; its current content is replayed (`tracesmith recover` may find more)");
  }
  return source;
}

}  // namespace tracesmith::cli
