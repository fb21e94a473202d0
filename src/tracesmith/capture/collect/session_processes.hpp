// SPDX-License-Identifier: Apache-2.0
// Follows the descendants of the recorded command for a session. Chooses the witnesses, and keeps
// the collector's `process` rows up to date.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/capture/collect/collector.hpp"
#include "tracesmith/capture/processes/agentless_processes.hpp"
#include "tracesmith/capture/processes/launcher.hpp"
#include "tracesmith/capture/processes/process_tracker.hpp"

namespace tracesmith {

class Descendants {
 public:
  /// Call it before the command is started. Without a tracker (the error is kept as a warning) only
  /// processes with an agent are seen.
  Descendants(const SessionDir& dir, Collector& collector);

  /// The library that must be preloaded, with process_log::kEnvLog naming the session's log. Empty
  /// where the kernel reports processes itself.
  bool needsPreload() const { return !preload_.empty(); }
  const std::string& preload() const { return preload_; }

  void started(pid_t pid, const std::string& command_line);
  /// A process that the command did not start is recorded with it.
  void joined(uint32_t pid);
  void poll(int64_t now_ns);
  void finish(const ExitStatus& root, int64_t now_ns);

  /// Messages about processes that loaded a GPU driver but from which no agent reported, for
  /// whatever reason. Each is also a row of `loss`. Call it after the collector's last pass.
  std::vector<std::string> reportAgentless(const SessionDir& dir);

  /// True for a process of the tree, running or ended. Call it after finish().
  bool has(uint32_t pid) const { return pids_.count(pid) > 0; }

  uint32_t unobserved() const { return unobserved_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void writeRows(int64_t now_ns, bool all);

  Collector& collector_;
  AgentlessProcesses agentless_;
  std::unique_ptr<ProcessTracker> tracker_;
  std::string preload_;
  std::vector<std::string> warnings_;
  std::set<uint32_t> pids_;
  uint32_t noted_agents_ = 0;
  uint32_t unobserved_ = 0;
  int64_t last_poll_ns_ = 0;
  int64_t last_rows_ns_ = 0;
  int64_t last_agentless_check_ns_ = 0;
};

}  // namespace tracesmith
