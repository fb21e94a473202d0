// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/session/session_forks.hpp"

#include <pthread.h>

#include <vector>

namespace tracesmith::session {
namespace {

struct Forks {
  std::mutex mutex;
  std::vector<ForkedSession> sessions;
};
Forks& forks() {
  static auto* f = new Forks;  // never destroyed, so it outlives every session
  return *f;
}

void beforeFork() {
  forks().mutex.lock();
  for (const ForkedSession& s : forks().sessions) s.mutex->lock();
}
void afterForkInParent() {
  for (const ForkedSession& s : forks().sessions) s.mutex->unlock();
  forks().mutex.unlock();
}
void afterForkInChild() {
  for (const ForkedSession& s : forks().sessions) s.in_child(s.session);
  afterForkInParent();
}

}  // namespace

void joinForks(const ForkedSession& session) {
  static const int installed = pthread_atfork(beforeFork, afterForkInParent, afterForkInChild);
  (void)installed;
  const std::lock_guard lock(forks().mutex);
  forks().sessions.push_back(session);
}

void leaveForks(const std::mutex& mutex) {
  const std::lock_guard lock(forks().mutex);
  std::erase_if(forks().sessions, [&](const ForkedSession& s) { return s.mutex == &mutex; });
}

}  // namespace tracesmith::session
