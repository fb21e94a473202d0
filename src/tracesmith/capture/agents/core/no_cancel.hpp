// SPDX-License-Identifier: Apache-2.0
// What an agent does on the way may open files and wait. A program that cancels its threads must
// not lose one there, with what it holds.
#pragma once

#include <pthread.h>

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

}  // namespace tracesmith::agent
