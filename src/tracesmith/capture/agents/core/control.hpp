// SPDX-License-Identifier: Apache-2.0
// Of an armed process: waits, on a thread of its own, until somebody wants to capture it
// (control_layout.hpp), and until they do not want to any more or are gone.
#pragma once

#include <stdint.h>

#include "tracesmith/capture/agents/core/no_cancel.hpp"

namespace tracesmith::agent {

/// What the agent does; each on the control thread, with the control lock.
struct Controlled {
  bool (*begin)();    // false: errno says why nothing is captured
  int64_t (*look)();  // again and again while it captures; how long until the next time, in ns
  void (*end)();
};

/// Makes the process's page, and the thread. Once; a second call changes nothing. False: errno.
bool startControl(const Controlled& controlled);

/// What begins and ends captures waits while it lives.
class ControlLock {
 public:
  ControlLock();
  /// Where others may wait for what this thread has, or a signal handler has interrupted who has
  /// it: gives up after that time, and is not taken() then.
  explicit ControlLock(int64_t most_ns);
  bool taken() const { return taken_; }
  ~ControlLock();
  ControlLock(const ControlLock&) = delete;
  ControlLock& operator=(const ControlLock&) = delete;

 private:
  const NoCancel whole_;
  bool taken_ = false;
};

/// Somebody captures this process. With the control lock, or else a hint.
bool isCaptured();

}  // namespace tracesmith::agent
