// SPDX-License-Identifier: Apache-2.0
// Finds the host slice at a time on a track, because flows in other tools' traces name no slice.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/export/slices/host_slices.hpp"

namespace tracesmith {

/// Usage: add() all moments, call find() once, then read the results with at().
class SlicesByTime {
 public:
  struct Moment {
    uint32_t track = 0;
    int64_t time_ns = 0;
    bool found = false;
    SliceSource source{};  ///< innermost slice around it; its start and end count as inside
    uint32_t row = 0;
  };

  /// Moments are numbered from 0, in the order of the calls.
  void add(uint32_t track, int64_t time_ns) { moments_.push_back({track, time_ns}); }
  /// Finds the slices of all moments among the drawn slices. O(n log n) in moments and slices.
  void find(const Trace& trace, const Selection& selection, const HostTracks& tracks);
  const Moment& at(size_t number) const { return moments_[number]; }

 private:
  std::vector<Moment> moments_;
};

}  // namespace tracesmith
