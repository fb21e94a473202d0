// SPDX-License-Identifier: Apache-2.0
// Within a program's call an agent may open files, take locks and wait. Thread cancellation and
// signal handlers that jump must not abandon that code while the thread holds something.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tracesmith::agent {

/// Disables cancellation of the thread during its lifetime. A pending cancellation happens at the
/// program's next cancellation point.
class NoCancel {
 public:
  NoCancel() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancel() { pthread_setcancelstate(before_, nullptr); }
  NoCancel(const NoCancel&) = delete;
  NoCancel& operator=(const NoCancel&) = delete;

 private:
  int before_ = 0;
};

/// Blocks the program's signal handlers on this thread during its lifetime: a handler may leave by
/// siglongjmp(), and whatever the thread holds would stay held. Fault signals are not blocked.
class NoHandlers {
 public:
  NoHandlers() {
    sigset_t all;
    sigfillset(&all);
    constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    for (const int fault : kFaults) sigdelset(&all, fault);
    change(&all, &before_);
  }
  ~NoHandlers() { change(&before_, nullptr); }
  /// Runs f(), code of others, with the handlers as they were.
  template <class F>
  void lift(F&& f) {
    sigset_t blocked;
    change(&before_, &blocked);
    f();
    change(&blocked, nullptr);
  }
  NoHandlers(const NoHandlers&) = delete;
  NoHandlers& operator=(const NoHandlers&) = delete;

 private:
  static void change(const sigset_t* to, sigset_t* before) {
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, to, before, _NSIG / 8);
  }
  sigset_t before_;
};

}  // namespace tracesmith::agent
