// SPDX-License-Identifier: Apache-2.0
// Runs a replay in a child process. If a driver crashes, a kernel hangs or memory runs out, only
// the child is lost, and the parent reports the step.
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
  /// Instead of one run: two side by side (twin_run.hpp); `run` is ignored.
  bool twins = false;
  /// Content of uninitialised memory in the second replay: true: noise; false: zeros, as in the
  /// first.
  bool twin_noise = true;
  /// Instead of one run: runs these pairs in both orders (pair_run.hpp); `run` is ignored.
  std::vector<UnorderedPair> pairs;
  /// Environment variables set in the child before it loads a driver.
  std::vector<std::pair<std::string, std::string>> environment;
  /// Limit per step; the replay is aborted when one takes longer. Program builds, and the time
  /// before the first step, in which the driver starts, get ten times as long.
  double step_limit_s = 60;
  /// Called about ten times a second.
  std::function<void(const RunProgress&)> progress;
};

/// For kDied, `signal` or `exit_code` holds the cause.
enum class ChildEnd : uint8_t { kDone, kFailed, kHung, kDied };

struct ChildOutcome {
  ChildEnd end = ChildEnd::kFailed;
  RunResult result;  ///< for kDone
  Error error;       ///< for kFailed: nothing was replayed
  int signal = 0;
  int exit_code = 0;
  StepIndex step = kNoStep;  ///< for kHung and kDied: the step being executed; kNoStep: none yet
  double limit_s = 0;        ///< for kHung: the limit that this step exceeded
};

/// Forks: kUnsupported if this process has loaded an OpenCL driver, whose threads the child would
/// lack. Other threads of the process must not hold locks that the child needs.
ChildOutcome runInChild(const ReplayPlan& plan, RecordingReader& reader,
                        const ChildSettings& settings);

/// "hung (no end within 60 s)", "ended by signal 11 (Segmentation fault)".
std::string describeEnd(const ChildOutcome& outcome);

}  // namespace tracesmith
