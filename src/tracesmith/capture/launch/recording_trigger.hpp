// SPDX-License-Identifier: Apache-2.0
// Triggers a recording from outside the program: starts and ends the range of one made with
// `--range trigger`, or makes a flight recorder save its window.
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

/// A recording that is under way.
struct RunningSession {
  std::string directory;
  uint32_t pid = 0;  ///< the recorded program that was meant; 0: all of the session
  bool is_flight_recorder = false;
};
/// `pid` is that of `tracesmith profile`, or of a program that it records. kNotFound: it is
/// neither.
Result<RunningSession> findRunningSession(uint32_t pid);
/// The session that writes to this output (or session directory).
Result<RunningSession> findRunningSession(const std::string& output);

/// Triggers the ranges of the session's processes. kNotFound: none has used OpenCL yet.
Result<TriggerOutcome> triggerRange(const RunningSession& session);

/// While this object lives, SIGUSR2 to this process is a trigger. One object at a time.
class TriggerSignal {
 public:
  TriggerSignal();
  ~TriggerSignal();
  TriggerSignal(const TriggerSignal&) = delete;
  TriggerSignal& operator=(const TriggerSignal&) = delete;

  /// Triggers the session's range once for each signal. A signal that comes before anything is
  /// recorded is kept for later.
  void poll(const std::string& session_dir);
  /// Whether a signal has come since the last call.
  bool take();

 private:
  struct sigaction previous_;
  uint32_t followed_ = 0;
};

}  // namespace tracesmith
