// SPDX-License-Identifier: Apache-2.0
// Follows the processes that are sampled and where their code lies.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "tracesmith/capture/system/perf_records.hpp"
#include "tracesmith/capture/system/sampled_paths.hpp"
#include "tracesmith/stacks/sampled/process_code.hpp"
#include "tracesmith/stacks/sampled/python_process.hpp"

namespace tracesmith {

/// A process that was met. Its number is its place, from 0: pids are used again.
struct SampledProcess {
  uint32_t pid = 0, parent_pid = 0;
  uint64_t start_ticks = 0;  ///< as in /proc/PID/stat
  bool is_exact = false;     ///< false: it ended too soon, and start_ticks may be off by a few
};

class SampledProcesses {
 public:
  SampledProcesses() : images_(std::make_shared<stacks::CodeImages>()) {}

  /// A process that runs already. kNotFound: it has ended.
  Status begin(pid_t pid);
  /// Takes each record, in the order of time.
  void take(const PerfRecord& record);
  /// Records are missing: maps and numbers of threads may be wrong. They are read anew, not more
  /// often than every 200 ms; call it after records were taken.
  void refreshAfterLoss(int64_t now_ns);

  struct Process {
    stacks::ProcessCode code;
    uint32_t number = 0;
    std::set<uint32_t> threads;  ///< the first one may end before others
    KnownFrames frames;          ///< of its code as it lies now
    std::optional<stacks::PythonProcess> python;
    bool is_python_told = false;   ///< findPython() has told of it
    uint32_t python_searches = 0;  ///< so many more: its files may not be mapped completely yet
  };
  Process& at(uint32_t pid);
  /// nullptr: it is none of them.
  Process* find(uint32_t pid) {
    const auto known = processes_.find(pid);
    return known == processes_.end() ? nullptr : &known->second;
  }
  /// Looks for interpreters in processes that have new files of Python. Calls found(pid, python).
  void findPython(const std::function<void(uint32_t, const stacks::PythonProcess&)>& found);
  /// Calls f(pid, process) for those that have not ended.
  template <class F>
  void forEach(F&& f) const {
    for (const auto& [pid, process] : processes_) f(pid, process);
  }
  size_t size() const { return processes_.size(); }
  /// Those met since the last call, in the order of their numbers.
  std::vector<SampledProcess> takeNew() { return std::exchange(new_, {}); }

 private:
  static constexpr uint32_t kPythonSearches = 5;
  static void refresh(uint32_t pid, Process& process);
  Process& add(uint32_t pid, uint32_t parent_pid, int64_t start_ns, stacks::ProcessCode code);

  std::shared_ptr<stacks::CodeImages> images_;
  std::map<uint32_t, Process> processes_;
  std::vector<SampledProcess> new_;
  uint32_t numbers_ = 0;
  bool has_lost_ = false;
  int64_t refreshed_ns_ = 0;
};

}  // namespace tracesmith
