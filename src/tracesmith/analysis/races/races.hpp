// SPDX-License-Identifier: Apache-2.0
// Races: two steps that use the same bytes, of which one writes them, and nothing makes the one
// wait for the other. What the timing was does not matter.
//
// Of the steps that use a byte, those that follow each other are looked at: a write and the last
// write before it, a write and the reads since that, a read and the last write. If those are
// ordered, all are. So each race that is found has its own missing wait, and a program to which all
// of them are added has no race.
//
// This is done for each grade of accesses by itself, with those that are at least as sure: what
// possibly writes hides nothing that is proven.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "tracesmith/analysis/races/race_program.hpp"

namespace tracesmith::races {

/// In the order of the two steps.
enum class Conflict : uint8_t { kWriteWrite, kWriteRead, kReadWrite };
std::string_view toString(Conflict conflict);
std::string_view toString(Grade grade);

struct Race {
  StepId first = kNone;   ///< in the order in which they could happen, and mostly did
  StepId second = kNone;  ///< to which a wait for `first` has to be added
  uint32_t allocation = 0;
  Grade grade = Grade::kProven;  ///< the weaker one of the two accesses
  Conflict conflict = Conflict::kWriteWrite;
  uint64_t begin = 0;  ///< from the first byte that both use
  uint64_t end = 0;    ///< to the last
  uint64_t bytes = 0;  ///< that both use in between
  /// Only the order of calls of different threads, if anything, keeps the two apart.
  bool across_threads = false;
  friend bool operator==(const Race&, const Race&) = default;
};

struct RaceOptions {
  Grade weakest = Grade::kLikely;  ///< that is looked at
  /// What a thread has waited for, the others know from then on: as if they took turns.
  bool threads_are_one = false;
};

struct RaceCounts {
  uint64_t races = 0;
  StepId stalled = 0;  ///< steps that wait for ever
};

/// Calls found(race) once for each pair and allocation; by `second`, then `first` and allocation.
/// Time: linear in steps, waits and accesses, times the logarithm of the stretches of bytes that
/// are told apart, but for joining clocks, which costs what differs.
RaceCounts forEachRace(const Program& program, const RaceOptions& options,
                       const std::function<void(const Race&)>& found);

/// Races between the same two labels about the same allocation.
struct RaceGroup {
  Race race;  ///< the first one
  uint64_t count = 1;
  bool same_bytes = true;  ///< all about the bytes of the first
};

struct RaceReport {
  std::vector<RaceGroup> groups;  ///< proven ones first, then by first occurrence
  uint64_t races = 0;
  StepId stalled = 0;
};

/// All races up to a grade. With several threads, races that would not be there if the threads had
/// taken turns are only possible: what threads tell each other is not known here.
RaceReport findRaces(const Program& program, Grade weakest);

}  // namespace tracesmith::races
