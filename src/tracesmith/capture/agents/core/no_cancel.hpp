// SPDX-License-Identifier: Apache-2.0
// What an agent does on the way may open files, take locks and wait. A program that cancels its
// threads, or whose signal handlers jump, must not leave from there with what the thread holds.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tracesmith::agent {

/// While it lives the thread is not cancelled; afterwards it is, at the program's next cancellation
/// point.
class NoCancel {
 public:
  NoCancel() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancel() { pthread_setcancelstate(before_, nullptr); }
  NoCancel(const NoCancel&) = delete;
  NoCancel& operator=(const NoCancel&) = delete;

 private:
  int before_ = 0;
};

/// While it lives no signal handler of the program runs on this thread: one may leave by
/// siglongjmp(), and take what the thread holds with it. Faults are handled as ever.
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
  NoHandlers(const NoHandlers&) = delete;
  NoHandlers& operator=(const NoHandlers&) = delete;

 private:
  static void change(const sigset_t* to, sigset_t* before) {
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, to, before, _NSIG / 8);
  }
  sigset_t before_;
};

}  // namespace tracesmith::agent
