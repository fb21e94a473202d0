// SPDX-License-Identifier: Apache-2.0
// Executes races: the recording is replayed with the two commands of a race the one way round and
// the other, and what they left, and what the program would have read, is compared.
//
// A race is confirmed when something is the same in each replay of the one order, the same in each
// of the other, and not the same in the two. What varies by itself, as sums of floats by atomics
// do, confirms nothing. docs/races.md.
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
  /// Which replay has begun (from 1), and how much of it is done (0 to 1).
  std::function<void(uint32_t replay, double share)> progress;
};

struct RaceTrials {
  std::vector<races::RaceVerdict> verdicts;  ///< of the first race of each group
  uint32_t replays = 0;
  std::string device;  ///< "": nothing was executed
};

/// `plan` and `recorded` are of the same commands. Each pair of commands is tried once, whatever
/// memory they race about, in the order of the groups. It forks: see runInChild().
RaceTrials tryRaces(const ReplayPlan& plan, RecordingReader& reader,
                    const races::RecordedProgram& recorded,
                    std::span<const races::RaceGroup> groups, const RaceTrialOptions& options);

}  // namespace tracesmith
