// SPDX-License-Identifier: Apache-2.0
// Reports races as text: both steps, the bytes, the missing synchronisation, and a fix. Also as
// JSON, with the same content and exact numbers.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/analysis/races/race_verdict.hpp"
#include "tracesmith/analysis/races/races.hpp"
#include "tracesmith/analysis/races/recorded_program.hpp"
#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/export/text/terminal_table.hpp"

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

/// One sentence that says how to order the two steps.
std::string fixOf(const races::RecordedProgram& recorded, const races::Race& race);

/// `limit`: number of groups to show; 0: all. `guesses_shown`: also show possible races.
void writeRacesText(const ProcessRaces& of, size_t limit, bool guesses_shown,
                    const TerminalStyle& style, Output& out);
/// Writes one JSON object.
void writeRacesJson(const ProcessRaces& of, JsonWriter& json);

}  // namespace tracesmith
