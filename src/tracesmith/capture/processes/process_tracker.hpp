// SPDX-License-Identifier: Apache-2.0
// Finds all descendants of the profiled command, including those that never load a GPU library. Its
// sources are the kernel's process events where available, the preload library's log, and scans of
// /proc. Without process events it still misses static programs, cleared environments, set-user-id
// programs and raw clone(2) that live for less than kScanIntervalNs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/processes/descendant_table.hpp"

namespace tracesmith {

struct ProcessTrackerOptions {
  /// Log of the preload library ($TRACESMITH_PROCESS_LOG), created if it does not exist; "": none.
  std::string log_path;
  /// A variable that the launcher gives to the command; a program without it cannot have an agent.
  std::string environment_marker = "TRACESMITH_SESSION";
  bool use_connector = true;
};

/// What was lost.
struct ProcessTrackerLosses {
  uint64_t lost_events = 0;      ///< kernel events of any process that could not be delivered
  uint64_t damaged_records = 0;  ///< of the preload library's log
};

class ProcessTracker {
 public:
  static constexpr int64_t kScanIntervalNs = 500'000'000;

  /// Starts to listen. Call it before the command is forked, on the thread or process that forks
  /// it. A thread reads the kernel's events until the tracker is destroyed, so that short-lived
  /// programs can be inspected in time. Fails when the log cannot be opened.
  static Result<std::unique_ptr<ProcessTracker>> start(ProcessTrackerOptions options);
  ~ProcessTracker();
  ProcessTracker(const ProcessTracker&) = delete;
  ProcessTracker& operator=(const ProcessTracker&) = delete;

  /// Sets the command's process, right after its fork. It may also be a process that already runs,
  /// or the calling one. `command_line`: quoted for a shell, used when no witness reports one.
  void setRoot(uint32_t pid, const std::string& command_line = {});
  /// Follows another process and its descendants as well. It is not one of the root's.
  void addRoot(uint32_t pid);

  /// Processes what is new, at `now_ns` (CLOCK_MONOTONIC). Takes some µs when there is nothing.
  Status poll(int64_t now_ns);
  /// Notes that an agent reported from this process.
  void noteAgent(uint32_t pid, uint64_t start_ticks);
  /// Notes the root's exit as wait(2) reported it. signal: 0, or the one that ended it.
  void noteRootExit(int exit_code, int signal, int64_t now_ns);

  /// Every process so far, after a poll(now_ns). Ids, pids and order never change. start_ticks may
  /// change while it is not exact, so write rows with inexact ones only at the end.
  std::vector<ProcessRecord> processes(int64_t now_ns);
  /// pid and start_ticks of running processes.
  std::vector<std::pair<uint32_t, uint64_t>> running() const;
  /// True while a descendant (or the root) runs.
  bool isAnyAlive() const;

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
