// SPDX-License-Identifier: Apache-2.0
// Processes that have loaded a GPU driver, and of which nevertheless no agent has reported: the
// agent may be unable even to say so, for instance where the session directory is out of its sight.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tracesmith {

/// A GPU driver that a process has loaded, and the OpenCL loader beside it.
struct LoadedDriver {
  std::string path;    ///< "": none
  std::string loader;  ///< "": none
  std::string name() const { return path.substr(path.rfind('/') + 1); }
};

/// The GPU driver's library among the mappings of a process; none when the process (or the one it
/// was forked from) has mapped a file of `session_dir`.
LoadedDriver gpuDriverIn(const std::string& maps, const std::string& session_dir);

/// Why nothing of a process with this driver may have been recorded, and what to do: for a message.
std::string whySilent(const LoadedDriver& driver, const std::string& session_dir);

class SilentProcesses {
 public:
  using Key = std::pair<uint32_t, uint64_t>;  // pid, start_ticks

  explicit SilentProcesses(std::string session_dir) : session_dir_(std::move(session_dir)) {}
  /// Looks into those of `running` that are due: soon after their start, then less and less often.
  void look(const std::vector<Key>& running, int64_t now_ns);
  /// By process, the driver that it had loaded. Leave out those of which an agent has reported.
  const std::map<Key, LoadedDriver>& found() const { return found_; }

 private:
  struct Due {
    int64_t at_ns = 0;
    int64_t pause_ns = 0;
  };
  std::string session_dir_;
  std::map<Key, Due> due_;
  std::map<Key, LoadedDriver> found_;
};

}  // namespace tracesmith
