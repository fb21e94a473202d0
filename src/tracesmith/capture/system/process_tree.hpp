// SPDX-License-Identifier: Apache-2.0
// A running process, its threads and its descendants, as /proc lists them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tracesmith {

/// The process itself comes first; empty: it has ended. Without this process and its descendants.
std::vector<uint32_t> processTreeOf(uint32_t pid);
std::vector<uint32_t> threadsOf(uint32_t pid);

/// A thread that runs already.
struct RunningThread {
  uint32_t pid = 0, tid = 0;
  uint32_t cpu = 0;
  char state = '?';       ///< as in /proc/PID/stat
  uint64_t switches = 0;  ///< of its own accord and not, so far
  std::string name;
};
/// Those of all processes of the tree; threads that end meanwhile are left out.
std::vector<RunningThread> runningThreadsOf(const std::vector<uint32_t>& processes);

}  // namespace tracesmith
