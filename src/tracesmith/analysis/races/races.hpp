// SPDX-License-Identifier: Apache-2.0
// Finds races: two steps that use the same bytes, one of them writing, without anything that makes
// one wait for the other. The recorded timing does not matter.
//
// For each byte, only consecutive uses are compared: a write with the previous write, a write with
// the reads since then, and a read with the last write. If those are ordered, all are. So each
// reported race has its own missing wait, and a program with all these waits added has no race.
//
// This is done separately for each grade, using the accesses that are at least as certain: a
// possible write does not hide a proven race.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "tracesmith/analysis/races/race_program.hpp"

namespace tracesmith::races {

/// Named in the order of the two steps.
enum class Conflict : uint8_t { kWriteWrite, kWriteRead, kReadWrite };
std::string_view toString(Conflict conflict);
std::string_view toString(Grade grade);

struct Race {
  StepId first = kNone;   ///< first in the possible, and usual, order
  StepId second = kNone;  ///< the step that needs a wait for `first`
  uint32_t allocation = 0;
  Grade grade = Grade::kProven;  ///< the weaker grade of the two accesses
  Conflict conflict = Conflict::kWriteWrite;
  uint64_t begin = 0;  ///< first byte that both use
  uint64_t end = 0;    ///< end of the last byte that both use
  uint64_t bytes = 0;  ///< number of bytes in between that both use
  /// At most the order of calls by different threads separates the two.
  bool across_threads = false;
  friend bool operator==(const Race&, const Race&) = default;
};

struct RaceOptions {
  Grade weakest = Grade::kLikely;  ///< weakest grade to consider
  /// What one thread has waited for is known to the others from then on, as if they took turns.
  bool threads_are_one = false;
};

struct RaceCounts {
  uint64_t races = 0;
  StepId stalled = 0;  ///< steps that wait forever
};

/// Calls found(race) once for each pair and allocation, ordered by `second`, then `first` and
/// allocation. Time: linear in steps, waits and accesses, multiplied by the logarithm of the number
/// of distinct byte ranges. In addition, joining clocks takes time proportional to their
/// differences.
RaceCounts forEachRace(const Program& program, const RaceOptions& options,
                       const std::function<void(const Race&)>& found);

/// Races between the same two labels on the same allocation.
struct RaceGroup {
  Race race;  ///< the first race
  uint64_t count = 1;
  bool same_bytes = true;  ///< all races concern the same bytes as the first
};

struct RaceReport {
  std::vector<RaceGroup> groups;  ///< proven races first, then by first occurrence
  uint64_t races = 0;
  StepId stalled = 0;
};

/// Finds all races up to a grade. With several threads, races that would not exist if the threads
/// took turns are graded as possible only, because communication between threads is not recorded.
RaceReport findRaces(const Program& program, Grade weakest);

}  // namespace tracesmith::races
