// SPDX-License-Identifier: Apache-2.0
// A timeline from TraceEvents, for programs that have those; a Trace has deviceTimelines().
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tracesmith/model/trace_event.hpp"
#include "tracesmith/state/timeline.hpp"

namespace tracesmith {

/// A piece of device work.
struct TimelineSpan {
  uint64_t correlation_id = 0;
  uint32_t device_id = 0;
  uint32_t stream_id = 0;
  EventType type = EventType::Unknown;
  std::string name;
  Timestamp start_time = 0;  ///< host ns
  Timestamp end_time = 0;
};

struct Timeline {
  std::vector<TimelineSpan> spans;  ///< by start
  uint64_t total_duration = 0;      ///< ns from the first start to the last end
  /// 0 to 1: the share of total_duration in which a device ran anything, overlaps counted once;
  /// the mean of all devices that ran something.
  double gpu_utilization = 0;
  uint32_t max_concurrent_ops = 0;  ///< on all devices together
};

/// Work is what ran on a device: KernelComplete, copies and sets, with their durations. Host calls
/// (KernelLaunch), waits and events without duration are not.
class TimelineBuilder {
 public:
  void addEvent(const TraceEvent& event);
  void addEvents(std::span<const TraceEvent> events);
  /// The events of a trace in host time, as toEvents() gives them.
  void addTrace(const Trace& trace) { addEvents(toEvents(trace)); }
  Timeline build() const;
  void clear() { spans_.clear(); }

 private:
  std::vector<TimelineSpan> spans_;
};

/// The streams of a timeline, numbered from 1 on in the order of device and stream;
/// DeviceSpan::row is the span's place in `timeline.spans`. Device n has the id n + 1.
std::vector<StreamTimeline> streamsOf(const Timeline& timeline);

}  // namespace tracesmith
