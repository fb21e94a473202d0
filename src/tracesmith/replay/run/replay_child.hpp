// SPDX-License-Identifier: Apache-2.0
// Runs a replay in a process of its own: a driver that crashes, a kernel that hangs or memory that
// runs out costs that process, and this one says at which step.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/replay/run/replay_run.hpp"

namespace tracesmith {

struct ChildSettings {
  RunSettings run;
  ExecutorOptions executor;
  /// Instead of one run, two beside each other (twin_run.hpp); `run` does not matter then.
  bool twins = false;
  /// What the second of them finds in memory that nobody wrote: noise, else the same zeros.
  bool twin_noise = true;
  /// Instead of one run: these in both orders (pair_run.hpp); `run` does not matter then.
  std::vector<UnorderedPair> pairs;
  /// Set in the child before it loads a driver.
  std::vector<std::pair<std::string, std::string>> environment;
  /// A step that takes longer is given up; building programs is given ten times as long.
  double step_limit_s = 60;
  /// Called about ten times a second.
  std::function<void(const RunProgress&)> progress;
};

/// kDied: `signal` or `exit_code` says how.
enum class ChildEnd : uint8_t { kDone, kFailed, kHung, kDied };

struct ChildOutcome {
  ChildEnd end = ChildEnd::kFailed;
  RunResult result;  ///< of kDone
  Error error;       ///< of kFailed: nothing was replayed
  int signal = 0;
  int exit_code = 0;
  StepIndex step = kNoStep;  ///< of kHung and kDied: what it was at
};

/// Call it from a process with one thread that has loaded no driver (it forks).
ChildOutcome runInChild(const ReplayPlan& plan, RecordingReader& reader,
                        const ChildSettings& settings);

/// "hung (no end within 60 s)", "ended by signal 11 (Segmentation fault)".
std::string describeEnd(const ChildOutcome& outcome, double step_limit_s);

}  // namespace tracesmith
