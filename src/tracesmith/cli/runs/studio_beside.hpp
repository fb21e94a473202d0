// SPDX-License-Identifier: Apache-2.0
// Studio as another process, which shows a trace while it is recorded.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>
#include <thread>

namespace tracesmith::cli {

class StudioBeside {
 public:
  /// Starts `tracesmith studio` as soon as there is something of the trace.
  explicit StudioBeside(std::string trace);
  ~StudioBeside();
  StudioBeside(const StudioBeside&) = delete;
  StudioBeside& operator=(const StudioBeside&) = delete;

  /// Returns when the user ends Studio (Ctrl-C).
  void wait();

 private:
  void run(const std::stop_token& stop);
  void end();

  const std::string trace_;
  std::atomic<pid_t> process_ = 0;
  std::atomic<bool> ended_ = false;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace tracesmith::cli
