// SPDX-License-Identifier: Apache-2.0
// Device work as intervals per stream, and sweeps over them. Intervals are half-open [begin, end)
// in host ns; empty ones do not count.
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

/// A piece of device work and its row.
struct DeviceSpan {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  TableId table{};   ///< kKernel, kCopy, kFill or kSync (device side only)
  uint32_t row = 0;  ///< row in `table`
};

struct StreamTimeline {
  StreamId stream{};
  DeviceId device{};
  std::vector<DeviceSpan> spans;  ///< by start
};

/// Calls f(stream, row) for each row of a table of device work that has a device time. The stream
/// is kNone if the trace does not have it.
template <class Table, class F>
void forEachTimed(const Trace& trace, const Table& table, F&& f) {
  for (size_t i = 0; i < table.size(); ++i) {
    if (table.flags[i] & (op_flags::kNoDeviceTime | op_flags::kHostSide)) continue;
    const StreamId stream = table.stream_id[i];
    f(static_cast<size_t>(stream) <= trace.stream.size() ? stream : StreamId::kNone,
      static_cast<uint32_t>(i));
  }
}

/// Device work of every stream that has any, by device, then stream. Omits work without device
/// times.
std::vector<StreamTimeline> deviceTimelines(const Trace& trace);

/// Union of intervals in any order: sorted, disjoint, not touching.
std::vector<Interval> unionOf(std::vector<Interval> intervals);
/// As unionOf(), but keeps intervals that are empty or end before they start (rounding can produce
/// such intervals), with their lengths.
std::vector<Interval> mergedOf(std::vector<Interval> intervals);
int64_t totalNs(std::span<const Interval> disjoint);

/// How many intervals were open at once.
struct Concurrency {
  struct Step {
    int64_t begin_ns = 0;  ///< `count` holds from here to the next step
    uint32_t count = 0;
  };
  std::vector<Step> steps;  ///< the last step has count 0
  uint32_t most = 0;
  int64_t busy_ns = 0;  ///< time with at least one
  double mean_when_busy = 0;
};
Concurrency concurrencyOf(std::span<const Interval> intervals);

}  // namespace tracesmith
