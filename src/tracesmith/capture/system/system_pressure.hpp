// SPDX-License-Identifier: Apache-2.0
// How long threads had to wait for processors, memory and disks (the kernel's "pressure stall
// information"), and how long cgroups were held back by their limits.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tracesmith/capture/system/counter_tracks.hpp"
#include "tracesmith/capture/system/sampled_processes.hpp"

namespace tracesmith {

/// A file that says how long a cgroup was held back.
struct CgroupFile {
  std::string cgroup;  ///< as "/system.slice/job"
  std::string path;    ///< its cpu.stat
};
/// Finds those of a process: of its own cgroup, and of those around it. `proc`: /proc, or a folder
/// like it.
class CgroupFiles {
 public:
  explicit CgroupFiles(std::string proc);
  std::vector<CgroupFile> of(pid_t pid) const;

 private:
  std::string proc_;
  struct Mount {
    std::string root;  ///< the cgroup that is seen there
    std::string where;
  };
  Mount unified_, processors_;  // of versions 2 and 1
};

class SystemPressure {
 public:
  explicit SystemPressure(CounterTracks& tracks, std::string proc = "/proc")
      : tracks_(tracks), proc_(std::move(proc)), files_(proc_) {}

  /// Reads the values, if enough time has passed.
  void poll(int64_t now_ns, const SampledProcesses& processes);

 private:
  struct Counter {
    uint32_t track = UINT32_MAX;
    int64_t begin_ns = 0, given_ns = 0;
    int64_t given_at_ns = 0;
  };
  /// `path`: the file that has the value.
  void note(const std::string& path, const std::string& name, int64_t value_ns, int64_t now_ns);
  void readPressure(int64_t now_ns);
  void readCgroups(int64_t now_ns);

  CounterTracks& tracks_;
  std::string proc_;
  CgroupFiles files_;
  std::map<std::string, Counter> counters_;    // by path
  std::map<std::string, CgroupFile> cgroups_;  // by path
  int64_t began_ns_ = 0, polled_ns_ = 0, looked_ns_ = 0;
};

}  // namespace tracesmith
