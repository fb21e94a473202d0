// SPDX-License-Identifier: Apache-2.0
// Which host slice a moment on a thread belongs to: arrows of other tools' traces name no slice.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/export/slices/host_slices.hpp"

namespace tracesmith {

/// Moments that are given first, each by its place on a track, and then the slices they are in.
class SlicesByTime {
 public:
  struct Moment {
    uint32_t track = 0;
    int64_t time_ns = 0;
    bool found = false;
    SliceSource source{};  ///< of the innermost slice around it, its first and last ns included
    uint32_t row = 0;
  };

  /// The numbers of the moments are given from 0 on.
  void add(uint32_t track, int64_t time_ns) { moments_.push_back({track, time_ns}); }
  /// Finds them all among the slices that are drawn. O(n log n) in both.
  void find(const Trace& trace, const Selection& selection, const HostTracks& tracks);
  const Moment& at(size_t number) const { return moments_[number]; }

 private:
  std::vector<Moment> moments_;
};

}  // namespace tracesmith
