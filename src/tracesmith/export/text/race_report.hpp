// SPDX-License-Identifier: Apache-2.0
// Races as sentences: both steps, the bytes, what nothing makes one of them wait for, and what
// would. And as JSON, with the same and exact numbers.
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
  /// Of the first race of each group: none, or of as many groups as were tried.
  std::vector<races::RaceVerdict> verdicts;
  uint32_t replays = 0;  ///< that were made for them
  std::string device;    ///< on which; "": none
};

/// What would order the two: one sentence.
std::string fixOf(const races::RecordedProgram& recorded, const races::Race& race);

/// `limit`: groups that are shown; 0: all. `guesses_shown`: possible races are among them.
void writeRacesText(const ProcessRaces& of, size_t limit, bool guesses_shown,
                    const TerminalStyle& style, Output& out);
/// One object.
void writeRacesJson(const ProcessRaces& of, JsonWriter& json);

}  // namespace tracesmith
