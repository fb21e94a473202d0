// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/linux/directory_changes.hpp"

#include <sys/stat.h>
#include <time.h>

#include "tracesmith/base/clock.hpp"

namespace tracesmith {
namespace {

int64_t nanoseconds(const timespec& t) { return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; }

}  // namespace

bool DirectoryChanges::mayHaveChanged(int directory) {
  struct stat s {};
  if (fstat(directory, &s) != 0) return true;
  const int64_t modified_ns = nanoseconds(s.st_mtim);
  const int64_t now_ns = monotonicNs();
  if (read_ns_ != 0 && !is_recent_ && modified_ns == modified_ns_ &&
      now_ns - read_ns_ < kLongestNs) {
    return false;
  }
  timespec clock{};
  clock_gettime(CLOCK_REALTIME, &clock);
  const int64_t age_ns = nanoseconds(clock) - modified_ns;
  // A negative age: the clock was set back, or is another machine's.
  is_recent_ = age_ns < kTimeStampNs;
  modified_ns_ = modified_ns;
  read_ns_ = now_ns;
  return true;
}

}  // namespace tracesmith
