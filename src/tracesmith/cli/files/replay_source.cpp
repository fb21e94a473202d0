// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/files/replay_source.hpp"

#include "tracesmith/cli/terminal/messages.hpp"

namespace tracesmith::cli {

Result<ReplaySource> openReplaySource(const std::string& path, std::optional<uint64_t> process) {
  TS_TRY(ReplaySource source, ReplaySource::open(path, process));
  for (const std::string& warning : source.warnings(path)) sayWarning(warning);
  return source;
}

}  // namespace tracesmith::cli
