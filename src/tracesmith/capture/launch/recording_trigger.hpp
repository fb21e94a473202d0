// SPDX-License-Identifier: Apache-2.0
// Starts and ends the range of a recording made with `--range trigger`, from outside the program.
#pragma once

#include <signal.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

struct TriggerOutcome {
  bool begins = false;         ///< the range starts; false: it ends
  std::vector<uint32_t> pids;  ///< of the processes that were triggered
};

/// `pid` is that of `tracesmith profile`, which triggers all of its processes, or of one recorded
/// program. kNotFound: it is neither, or has not used OpenCL yet.
Result<TriggerOutcome> triggerRecording(uint32_t pid);

/// The same for the session in this directory; `pid` 0: all of its processes.
Result<TriggerOutcome> triggerSession(const std::string& session_dir, uint32_t pid);

/// While this object lives, SIGUSR2 to this process is a trigger. One object at a time.
class TriggerSignal {
 public:
  TriggerSignal();
  ~TriggerSignal();
  TriggerSignal(const TriggerSignal&) = delete;
  TriggerSignal& operator=(const TriggerSignal&) = delete;

  /// Triggers the session once for each signal. A signal that comes before anything is recorded is
  /// kept for later.
  void poll(const std::string& session_dir);

 private:
  struct sigaction previous_;
  uint32_t followed_ = 0;
};

}  // namespace tracesmith
