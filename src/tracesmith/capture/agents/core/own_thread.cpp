// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/core/own_thread.hpp"

#include <pthread.h>
#include <signal.h>

namespace tracesmith::agent {

int startOwnThread(void* (*run)(void*)) {
  pthread_attr_t attributes;
  if (const int error = pthread_attr_init(&attributes); error != 0) return error;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  // A blocked fault ends the process even if there is a handler, and our own mappings may fault.
  constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
  for (const int fault : kFaults) sigdelset(&all, fault);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, run, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return error;
}

}  // namespace tracesmith::agent
