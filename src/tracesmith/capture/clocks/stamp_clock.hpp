// SPDX-License-Identifier: Apache-2.0
// Converts the stamps of agents to CLOCK_MONOTONIC ns. Stamps may be readings of the processor's
// time stamp counter, which costs a program half as much as a system clock call.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith {

class StampClock {
 public:
  struct Sample {
    int64_t host_ns = 0;
    int64_t counter = 0;
    int64_t error_ns = 0;
  };

  /// Pairs the counter with the host clock, now. The collector calls it in every pass, so that the
  /// stamps it reads next lie between two samples.
  void sample();
  /// Adds a pair from elsewhere: an arena's header, or the file of a resumed session.
  void add(const Sample& sample);

  /// Host ns of a stamp: interpolated between samples, extrapolated outside them at the nearest
  /// rate.
  int64_t toNs(arena::StampClockKind kind, int64_t stamp) const;

  /// Keeps only the newest `keep` samples. Earlier stamps are then converted at the rate of the
  /// oldest samples kept.
  void trim(size_t keep) {
    if (samples_.size() > keep) {
      samples_.erase(samples_.begin(), samples_.end() - static_cast<ptrdiff_t>(keep));
    }
  }

  const std::vector<Sample>& samples() const { return samples_; }

 private:
  std::vector<Sample> samples_;  // ascending in both columns
};

}  // namespace tracesmith
