// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/processes/signal_free_thread.hpp"

#include <pthread.h>

#include <csignal>
#include <system_error>
#include <utility>

namespace tracesmith {

Result<std::thread> startSignalFreeThread(std::function<void()> body) {
  sigset_t quiet, before;
  sigfillset(&quiet);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS})
    sigdelset(&quiet, fault);
  // A thread starts with the signal mask of its creator.
  pthread_sigmask(SIG_SETMASK, &quiet, &before);
  Result<std::thread> thread;
  try {
    thread = std::thread(std::move(body));
  } catch (const std::system_error& e) {
    thread = failErrno(e.code().value(), "cannot start a thread");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace tracesmith
