// SPDX-License-Identifier: Apache-2.0
// Finds processes that have loaded a GPU driver but from which no agent reported. The agent may
// even be unable to report an error, for instance when it cannot see the session directory.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tracesmith {

/// A GPU driver that a process has loaded, and the OpenCL loader with it.
struct LoadedDriver {
  std::string path;    ///< "": none
  std::string loader;  ///< "": none
  std::string name() const { return path.substr(path.rfind('/') + 1); }
};

/// The GPU driver's library among the mappings of a process. None when the process (or the one it
/// was forked from) has mapped a file of `session_dir`.
LoadedDriver gpuDriverIn(const std::string& maps, const std::string& session_dir);

/// For a message: why nothing may have been recorded from a process with this driver, and what to
/// do.
std::string whyAgentless(const LoadedDriver& driver, const std::string& session_dir);

class AgentlessProcesses {
 public:
  using Key = std::pair<uint32_t, uint64_t>;  // pid, start_ticks

  explicit AgentlessProcesses(std::string session_dir) : session_dir_(std::move(session_dir)) {}
  /// Inspects those of `running` that are due: soon after their start, then less and less often.
  void inspect(const std::vector<Key>& running, int64_t now_ns);
  /// The loaded driver by process. The caller must leave out processes from which an agent
  /// reported.
  const std::map<Key, LoadedDriver>& found() const { return found_; }

 private:
  struct NextInspection {
    int64_t at_ns = 0;
    int64_t pause_ns = 0;
  };
  std::string session_dir_;
  std::map<Key, NextInspection> due_;
  std::map<Key, LoadedDriver> found_;
};

}  // namespace tracesmith
