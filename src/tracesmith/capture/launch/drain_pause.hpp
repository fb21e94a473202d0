// SPDX-License-Identifier: Apache-2.0
// The pause between two passes of the collector.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>

namespace tracesmith {

/// Short while records arrive quickly, longer while few do: each wake-up costs processor time that
/// the program may need. The longest pause is so short that a ring of the default size is not
/// filled by the fastest calls in it. Smaller rings get shorter pauses, but not in proportion,
/// since even an idle program pays for them: the smallest ring, of 64 KiB, holds what calls of
/// 0.6 us each record in its longest pause. Faster ones find it full.
class DrainPause {
 public:
  static constexpr uint64_t kDefaultRingBytes = 4u << 20;
  static constexpr int64_t kShortestNs = 1'000'000;  ///< of rings of the default size and larger
  static constexpr int64_t kLongestNs = 5'000'000;
  static constexpr int64_t kLeastNs = 200'000;  ///< of any ring

  /// `ring_bytes`: of the session's rings. The next pause is the shortest if a pass has read more
  /// than about a hundredth of what a ring holds (a record has some 40 bytes).
  explicit DrainPause(uint64_t ring_bytes)
      : many_records_(std::max<uint64_t>(ring_bytes / 4096, 1)),
        longest_ns_(std::max(scaled(kLongestNs, ring_bytes), kShortestNs)),
        shortest_ns_(std::max(scaled(kShortestNs, ring_bytes), kLeastNs)),
        pause_ns_(shortest_ns_) {}

  /// The next pause. `records`: how many the last pass read.
  int64_t next(uint64_t records) {
    pause_ns_ = records >= many_records_ ? shortest_ns_ : std::min(pause_ns_ * 2, longest_ns_);
    return pause_ns_;
  }

  void sleep(uint64_t records) {
    const timespec pause{0, next(records)};
    nanosleep(&pause, nullptr);
  }

 private:
  static int64_t scaled(int64_t ns, uint64_t ring_bytes) {
    const uint64_t bytes = std::min(ring_bytes, kDefaultRingBytes);
    return static_cast<int64_t>(static_cast<uint64_t>(ns) * bytes / kDefaultRingBytes);
  }

  uint64_t many_records_;
  int64_t longest_ns_;
  int64_t shortest_ns_;
  int64_t pause_ns_;
};

}  // namespace tracesmith
