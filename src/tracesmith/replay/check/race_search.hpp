// SPDX-License-Identifier: Apache-2.0
// The races of all processes of a recording, and on request their confirmation by replays.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tracesmith/analysis/races/races.hpp"
#include "tracesmith/analysis/races/recorded_program.hpp"
#include "tracesmith/replay/check/race_trial.hpp"

namespace tracesmith {

/// The races of one process of a recording.
struct ProcessRaces {
  uint32_t pid = 0;
  std::string command_line;
  races::RecordedProgram recorded;
  races::RaceReport report;
  /// One verdict per group that was tried, for its first race, in order of the groups; may be
  /// empty.
  std::vector<races::RaceVerdict> verdicts;
  uint32_t replays = 0;  ///< number of replays run for the verdicts
  std::string device;    ///< device used for the replays; "": none
};

struct RaceSearch {
  races::Grade least = races::Grade::kLikely;
  /// Replays the commands of each race in both orders; none: nothing is executed.
  std::optional<RaceTrialOptions> confirm;
  size_t most_confirmed = 0;  ///< groups of a process to confirm; 0: all
};

/// Opens a recording, or that of a trace. Fails if it is of another run than the trace.
Result<RecordingReader> openRecordingOf(const std::string& path);

/// Errors: kCancelled, and those of the recording and of replays.
Result<std::vector<ProcessRaces>> racesOf(RecordingReader& reader, const RaceSearch& search);

}  // namespace tracesmith
