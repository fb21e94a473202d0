// SPDX-License-Identifier: Apache-2.0
// Commands of this program that run in the background, each as a process of its own: what executes
// a recording must not be able to harm the server.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/replay/run/scratch_folder.hpp"

namespace tracesmith::studio {

enum class JobState : uint8_t {
  kRunning,
  kFinished,   ///< the command ended by itself
  kCancelled,  ///< it was killed
};

struct Job {
  uint64_t id = 0;
  std::string what;                    ///< as the caller named it
  std::vector<std::string> arguments;  ///< of the command
  /// Where it may leave files, as long as the job is known or somebody has it.
  std::shared_ptr<const ScratchFolder> folder;
  JobState state = JobState::kRunning;
  int exit_code = -1;  ///< for kFinished; -1: ended by `signal`
  int signal = 0;
  double seconds = 0;        ///< how long it ran, or has been running
  std::string output;        ///< once it has ended
  std::string messages;      ///< standard error, its last part
  bool output_whole = true;  ///< false: there was more than kMostOutput
};

/// One job at a time. Any number of threads may use it at the same time.
class CommandJobs {
 public:
  static constexpr size_t kMostOutput = 64 << 20;

  CommandJobs() = default;
  /// Kills what is running, with its children, and waits until it is gone.
  ~CommandJobs();
  CommandJobs(const CommandJobs&) = delete;
  CommandJobs& operator=(const CommandJobs&) = delete;

  /// Makes the arguments of a command that may leave files in a folder.
  using Arguments = std::function<std::vector<std::string>(const std::string& folder)>;
  /// Runs `tracesmith` with these arguments; returns the number of the job. kPermission: another
  /// job is running.
  Result<uint64_t> start(const std::string& what, const Arguments& arguments);
  /// The last few jobs are kept.
  std::optional<Job> find(uint64_t id) const;
  /// The newest job with this name.
  std::optional<Job> newest(const std::string& what) const;
  /// Kills the job with its children; nothing happens if it has ended.
  void cancel(uint64_t id);

 private:
  struct Running;
  void run(const std::shared_ptr<Running>& running, Job job);
  Job* known(uint64_t id);
  template <class Wanted>
  std::optional<Job> lastOf(const Wanted& wanted) const;

  mutable std::mutex mutex_;
  std::deque<Job> jobs_;              // the newest last
  std::shared_ptr<Running> running_;  // null: none
  std::thread thread_;
  uint64_t last_id_ = 0;
};

}  // namespace tracesmith::studio
