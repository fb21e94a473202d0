// SPDX-License-Identifier: Apache-2.0
// In an armed process: a thread that waits for a capture request (control_layout.hpp), and during a
// capture until the requester ends it or dies.
#pragma once

#include <stdint.h>

#include "tracesmith/capture/agents/core/no_cancel.hpp"

namespace tracesmith::agent {

/// The agent's callbacks; each runs on the control thread, with the control lock held.
struct Controlled {
  bool (*begin)();    // starts capturing; false: errno says why not
  int64_t (*look)();  // called repeatedly while capturing; returns ns until the next call
  void (*end)();
};

/// Creates the process's page and the thread. A second call does nothing. False: errno is set.
bool startControl(const Controlled& controlled);

/// Held while a capture starts or ends.
class ControlLock {
 public:
  ControlLock();
  /// For threads that must not wait for ever: others may be waiting for something that this thread
  /// holds, or this may be a signal handler that interrupted the owner. Gives up after `most_ns`;
  /// then taken() is false.
  explicit ControlLock(int64_t most_ns);
  bool taken() const { return taken_; }
  ~ControlLock();
  ControlLock(const ControlLock&) = delete;
  ControlLock& operator=(const ControlLock&) = delete;

 private:
  const NoCancel whole_;
  bool taken_ = false;
};

/// This process is being captured. Reliable with the control lock, otherwise only a hint.
bool isCaptured();

}  // namespace tracesmith::agent
