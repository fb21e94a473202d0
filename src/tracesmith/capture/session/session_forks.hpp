// SPDX-License-Identifier: Apache-2.0
// Every session of the process, for fork(): its lock is held meanwhile, and the child is told.
#pragma once

#include <mutex>

namespace tracesmith::session {

struct ForkedSession {
  std::mutex* mutex;
  void (*in_child)(void* session);  ///< called with the mutex held
  void* session;
};

void joinForks(const ForkedSession& session);
/// The one with this mutex is told no more.
void leaveForks(const std::mutex& mutex);

}  // namespace tracesmith::session
