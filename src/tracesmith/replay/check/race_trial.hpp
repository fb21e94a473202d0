// SPDX-License-Identifier: Apache-2.0
// Confirms races by execution: replays the recording with the two commands of a race in one order
// and in the other, and compares the resulting memory and the data read by the program.
//
// A race is confirmed when some content is identical in all replays of the first order, identical
// in all replays of the second, and differs between the two. Content that varies within one order,
// such as floating-point sums by atomics, confirms nothing. See docs/races.md.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tracesmith/analysis/races/race_verdict.hpp"
#include "tracesmith/analysis/races/races.hpp"
#include "tracesmith/analysis/races/recorded_program.hpp"
#include "tracesmith/replay/run/replay_child.hpp"

namespace tracesmith {

struct RaceTrialOptions {
  ExecutorOptions executor;
  uint32_t most_replays = 50;
  double step_limit_s = 60;
  /// Called with the number of the current replay (from 1) and its progress (0 to 1).
  std::function<void(uint32_t replay, double share)> progress;
};

struct RaceTrials {
  std::vector<races::RaceVerdict> verdicts;  ///< for the first race of each group
  uint32_t replays = 0;
  std::string device;  ///< empty: nothing was executed
};

/// `plan` and `recorded` come from the same commands. Tries each pair of commands once, in the
/// order of the groups, even if they race on several memory objects. Forks: see runInChild().
RaceTrials tryRaces(const ReplayPlan& plan, RecordingReader& reader,
                    const races::RecordedProgram& recorded,
                    std::span<const races::RaceGroup> groups, const RaceTrialOptions& options);

}  // namespace tracesmith
