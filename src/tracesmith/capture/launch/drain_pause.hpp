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
  /// Records of one pass from which on the next pause is the shortest. A ring of the default size
  /// holds about a hundred times as many.
  static constexpr uint64_t kManyRecords = 1000;

  /// `records`: how many the last pass read.
  void sleep(uint64_t records) {
    pause_ns_ = records >= kManyRecords ? kShortestNs : std::min(pause_ns_ * 2, kLongestNs);
    const timespec pause{0, pause_ns_};
    nanosleep(&pause, nullptr);
  }

 private:
  int64_t pause_ns_ = kShortestNs;
};

}  // namespace tracesmith
