// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/studio_recording.hpp"

namespace tracesmith::studio {

Result<std::unique_ptr<StudioRecording>> StudioRecording::open(const std::string& trace_path) {
  TS_TRY(ReplaySource source, ReplaySource::open(trace_path));
  std::vector<std::string> warnings = source.warnings(trace_path);
  return std::unique_ptr<StudioRecording>(
      new StudioRecording(std::move(source), std::move(warnings)));
}

Result<const std::vector<ProcessRaces>*> StudioRecording::races(bool all) const {
  const std::lock_guard lock(mutex_);
  std::optional<std::vector<ProcessRaces>>& known = races_[all ? 1 : 0];
  if (!known) {
    RaceSearch search;
    if (all) search.least = tracesmith::races::Grade::kPossible;
    TS_TRY(known, racesOf(source_.reader, search));
  }
  return &*known;
}

}  // namespace tracesmith::studio
