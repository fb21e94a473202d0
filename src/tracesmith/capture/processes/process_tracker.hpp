// SPDX-License-Identifier: Apache-2.0
// Finds every descendant of the profiled command, also those that never load a GPU library: by the
// kernel's process events where we may hear them, by the preload library's log, and by looking in
// /proc. What is still missed without process events: static programs, scrubbed environments,
// set-user-id programs and raw clone(2) that live for less than kScanIntervalNs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/processes/descendant_table.hpp"

namespace tracesmith {

struct ProcessTrackerOptions {
  /// Log of the preload library ($TRACESMITH_PROCESS_LOG), created when it is not there; "": none.
  std::string log_path;
  /// A variable that the launcher gives to the command; a program without it can hold no agent.
  std::string environment_marker = "TRACESMITH_SESSION";
  bool use_connector = true;
};

/// What was lost or could not be watched.
struct ProcessTrackerLosses {
  uint64_t lost_events = 0;      ///< kernel events of any process that could not be delivered
  uint64_t damaged_records = 0;  ///< of the preload library's log
};

class ProcessTracker {
 public:
  static constexpr int64_t kScanIntervalNs = 500'000'000;

  /// Begins to listen: call it before the command is forked, on the thread or process that forks
  /// it. A thread of ours reads the kernel's events until the tracker is destroyed, so that it can
  /// look at a program before it is gone. Fails when the log cannot be opened.
  static Result<std::unique_ptr<ProcessTracker>> start(ProcessTrackerOptions options);
  ~ProcessTracker();
  ProcessTracker(const ProcessTracker&) = delete;
  ProcessTracker& operator=(const ProcessTracker&) = delete;

  /// The command's process, right after it was forked. It may as well be one that runs already, or
  /// our own. `command_line`: quoted for a shell, for when nobody else can tell it.
  void setRoot(uint32_t pid, const std::string& command_line = {});

  /// Takes in what is new, at `now_ns` (CLOCK_MONOTONIC). Some µs when there is nothing.
  Status poll(int64_t now_ns);
  /// An agent of ours reported from this process.
  void noteAgent(uint32_t pid, uint64_t start_ticks);
  /// How the root ended, as wait(2) told its parent. signal: 0, or the one that ended it.
  void noteRootExit(int exit_code, int signal, int64_t now_ns);

  /// Every process so far, after a poll(now_ns). Ids, pids and order never change; start_ticks may
  /// change as long as it is not exact, so take rows that are not exact only at the end.
  std::vector<ProcessRecord> processes(int64_t now_ns);
  /// pid and start_ticks of those that run.
  std::vector<std::pair<uint32_t, uint64_t>> running() const;
  /// True while a descendant (or the root) runs.
  bool anyAlive() const;

  ProcessTrackerLosses losses() const;
  bool hasConnector() const;
  /// Why there are no kernel events; "" when there are.
  const std::string& connectorProblem() const;

 private:
  struct Impl;
  explicit ProcessTracker(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith
