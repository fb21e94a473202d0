// SPDX-License-Identifier: Apache-2.0
// Reports races as text: both steps, the bytes, the missing synchronisation, and a fix. Also as
// JSON, with the same content and exact numbers.
#pragma once

#include <string>

#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/export/text/terminal_table.hpp"
#include "tracesmith/replay/check/race_search.hpp"

namespace tracesmith {

/// One sentence that says how to order the two steps.
std::string fixOf(const races::RecordedProgram& recorded, const races::Race& race);

/// `limit`: number of groups to show; 0: all. `guesses_shown`: also show possible races.
void writeRacesText(const ProcessRaces& of, size_t limit, bool guesses_shown,
                    const TerminalStyle& style, Output& out);
/// Writes one JSON object.
void writeRacesJson(const ProcessRaces& of, JsonWriter& json);

}  // namespace tracesmith
