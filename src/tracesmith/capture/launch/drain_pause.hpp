// SPDX-License-Identifier: Apache-2.0
// The pause between two passes of the collector.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>

namespace tracesmith {

/// Short while records arrive quickly, longer while few do: each wake-up costs processor time that
/// the program may need. The longest pause is so short that a ring of the default size is not
/// filled by the fastest calls in it.
class DrainPause {
 public:
  static constexpr int64_t kShortestNs = 1'000'000;
  static constexpr int64_t kLongestNs = 5'000'000;
  /// `ring_bytes`: of the session's rings. The next pause is the shortest if a pass has read more
  /// than about a hundredth of what a ring holds (a record has some 40 bytes).
  explicit DrainPause(uint64_t ring_bytes)
      : many_records_(std::max<uint64_t>(ring_bytes / 4096, 1)) {}

  /// `records`: how many the last pass read.
  void sleep(uint64_t records) {
    pause_ns_ = records >= many_records_ ? kShortestNs : std::min(pause_ns_ * 2, kLongestNs);
    const timespec pause{0, pause_ns_};
    nanosleep(&pause, nullptr);
  }

 private:
  uint64_t many_records_;
  int64_t pause_ns_ = kShortestNs;
};

}  // namespace tracesmith
