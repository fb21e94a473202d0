// SPDX-License-Identifier: Apache-2.0
// Notes that users make in Studio. They are beside the trace, in TRACE.notes.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith::studio {

struct StudioNote {
  int64_t begin_ns = 0;  ///< from the start of the trace
  int64_t end_ns = 0;    ///< equal: a moment
  std::string text;
};

constexpr size_t kMostNotes = 1'000;
constexpr size_t kMostNoteBytes = 10'000;  ///< of a text

/// The file that has the notes of a trace.
std::string notesPath(const std::string& trace);
/// None if there is no such file. Fails if it is no list of notes.
Result<std::vector<StudioNote>> readNotes(const std::string& trace);
/// Replaces the file, completely or not at all; without notes, removes it.
Status writeNotes(const std::string& trace, const std::vector<StudioNote>& notes);

/// {"notes": [{"begin_ns": 5, "end_ns": 5, "text": "..."}]}
std::string notesJson(const std::vector<StudioNote>& notes);
/// Fails with kInvalidArgument if the text is not that, or has too much.
Result<std::vector<StudioNote>> notesOf(const std::string& json);

}  // namespace tracesmith::studio
