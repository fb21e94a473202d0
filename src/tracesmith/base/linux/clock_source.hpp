// SPDX-License-Identifier: Apache-2.0
// The processor's time stamp counter as a clock. Agents include this header, so it needs libc only.
#pragma once

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "tracesmith/base/clock.hpp"

namespace tracesmith {

/// True if the counter is the system's own clock source. It then ticks steadily and equally on all
/// processors, and reading it costs half as much as clock_gettime(). This reads a file; cache the
/// result.
inline bool counterIsClockSource() {
#if defined(__x86_64__)
  const int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                      O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char name[16] = {};
  const ssize_t n = read(fd, name, sizeof name - 1);
  close(fd);
  return n > 0 && strcmp(name, "tsc\n") == 0;
#else
  return false;
#endif
}

/// The counter's value if `use_counter`, else CLOCK_MONOTONIC in ns. [hot]
inline int64_t stampNow([[maybe_unused]] bool use_counter) {
#if defined(__x86_64__)
  if (__builtin_expect(use_counter, 1)) return static_cast<int64_t>(__rdtsc());
#endif
  return monotonicNs();
}

}  // namespace tracesmith
