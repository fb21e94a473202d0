// SPDX-License-Identifier: Apache-2.0
// All sessions of the process, for fork(). Their locks are held during a fork, and each is notified
// in the child.
#pragma once

#include <mutex>

namespace tracesmith::session {

struct ForkedSession {
  std::mutex* mutex;
  void (*in_child)(void* session);  ///< called with the mutex held
  void* session;
};

void joinForks(const ForkedSession& session);
/// Removes the session with this mutex; it is no longer notified.
void leaveForks(const std::mutex& mutex);

}  // namespace tracesmith::session
