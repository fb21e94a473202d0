// SPDX-License-Identifier: Apache-2.0
// Pauses for a thread that waits for another process.
#pragma once

#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace tracesmith::agent {

constexpr int64_t kFirstPauseNs = 50'000;

/// Pauses, and makes the next pause longer: many threads polling every 50 us would leave no
/// processor for the collector.
inline void pauseLonger(int64_t& pause_ns) {
  const timespec pause{0, pause_ns};
  // The system call itself, because the library function is a cancellation point.
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, nullptr);
  if (pause_ns < 2'000'000) pause_ns *= 2;
}

}  // namespace tracesmith::agent
