// SPDX-License-Identifier: Apache-2.0
// Turns the stamps of agents into CLOCK_MONOTONIC ns: they may be readings of the processor's time
// stamp counter, which costs a program half as much as asking the system.
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

  /// Pairs the counter with the host clock, now. Called at every pass of the collector, so that
  /// what it then reads lies between two samples.
  void sample();
  /// A pair from elsewhere: an arena's header, or the file of a resumed session.
  void add(const Sample& sample);

  /// Host ns of a stamp: interpolated between samples, beyond them by the rate nearby.
  int64_t toNs(arena::StampClockKind kind, int64_t stamp) const;

  /// Forgets all but the newest `keep`; earlier stamps are then converted by the rate after them.
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
