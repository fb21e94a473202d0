// SPDX-License-Identifier: Apache-2.0
// Builds a timeline of device work from TraceEvents or from the columns of a trace.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracesmith/model/trace_event.hpp"
#include "tracesmith/state/timeline.hpp"
#include "tracesmith/state/timeline_spans.hpp"

namespace tracesmith {

struct Timeline {
  TimelineSpans spans;
  uint64_t total_duration = 0;  ///< ns from the first start to the last end
  /// 0 to 1: the mean of the devices' utilization.
  double gpu_utilization = 0;
  uint32_t max_concurrent_ops = 0;  ///< over all devices

  /// A device with any work.
  struct Device {
    uint32_t device_id = 0;
    int64_t begin_ns = 0;    ///< start of its first piece of work
    int64_t end_ns = 0;      ///< end of its last piece of work
    int64_t busy_ns = 0;     ///< union of all its work
    int64_t kernel_ns = 0;   ///< union of its kernels
    double utilization = 0;  ///< kernel_ns / (end_ns - begin_ns)
    uint32_t most_concurrent = 0;
  };
  std::vector<Device> devices;  ///< by device_id
  /// [n]: ns in which exactly n pieces of work ran, over all devices, between the first start and
  /// the last end.
  std::vector<int64_t> time_at_concurrency;
};

/// Work is what ran on a device: KernelComplete, copies and fills, with their durations. Host calls
/// (KernelLaunch), waits and events without duration do not count.
class TimelineBuilder {
 public:
  void addEvent(const TraceEvent& event);
  void addEvents(std::span<const TraceEvent> events);
  /// Device work of a trace in host time.
  void addTrace(const Trace& trace);
  /// Empty if cancelled (base/cancellation.hpp).
  Timeline build() const;
  void clear() { *this = TimelineBuilder(); }

 private:
  /// In order of arrival.
  struct Pending {
    Column<int64_t> start;
    Column<uint64_t> duration, correlation;
    Column<uint32_t> name, stream;  // stream: index in `streams_`
    Column<uint8_t> type;
  };
  uint32_t findOrAddStream(uint32_t device, uint32_t stream);

  StringTable names_;
  std::vector<std::pair<uint32_t, uint32_t>> streams_;  // device and stream
  std::unordered_map<uint64_t, uint32_t> stream_indices_;
  Pending pending_;
};

/// As TimelineBuilder for a single trace, without the copy of the data that a builder keeps. Empty
/// if cancelled.
Timeline timelineOf(const Trace& trace);

/// The streams of a timeline, numbered from 1 in the order of device and stream. DeviceSpan::row is
/// the span's index in `timeline.spans`. Device n has the id n + 1.
std::vector<StreamTimeline> streamsOf(const Timeline& timeline);

}  // namespace tracesmith
