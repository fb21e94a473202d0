// SPDX-License-Identifier: Apache-2.0
// When was what busy? Device work as intervals per stream, and sweeps over them. Intervals are
// half-open [begin, end) in host ns; an empty one counts as nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct Interval {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

/// A piece of device work and where it came from.
struct DeviceSpan {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  TableId table{};   ///< kKernel, kCopy, kFill or kSync (device side only)
  uint32_t row = 0;  ///< in that table
};

struct StreamTimeline {
  StreamId stream{};
  DeviceId device{};
  std::vector<DeviceSpan> spans;  ///< by begin
};

/// Device work of every stream that has any, by device, then stream. Work without device times is
/// left out.
std::vector<StreamTimeline> deviceTimelines(const Trace& trace);

/// Union of intervals in any order: sorted, disjoint, not touching.
std::vector<Interval> unionOf(std::vector<Interval> intervals);
/// The same of all intervals, also of those that are empty or end before they begin (rounding can
/// make such ones): they keep their lengths.
std::vector<Interval> mergedOf(std::vector<Interval> intervals);
int64_t totalNs(std::span<const Interval> disjoint);

/// How many intervals were open at once.
struct Concurrency {
  struct Step {
    int64_t begin_ns = 0;  ///< `count` holds from here to the next step
    uint32_t count = 0;
  };
  std::vector<Step> steps;  ///< the last one has count 0
  uint32_t most = 0;
  int64_t busy_ns = 0;  ///< time with at least one
  double mean_when_busy = 0;
};
Concurrency concurrencyOf(std::span<const Interval> intervals);

}  // namespace tracesmith
