// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/timeline_builder.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace tracesmith {
namespace {

bool isDeviceWork(EventType type) {
  return type == EventType::KernelComplete || type == EventType::MemcpyH2D ||
         type == EventType::MemcpyD2H || type == EventType::MemcpyD2D ||
         type == EventType::MemsetDevice;
}

TableId tableOf(EventType type) {
  if (type == EventType::KernelComplete) return TableId::kKernel;
  return type == EventType::MemsetDevice ? TableId::kFill : TableId::kCopy;
}

}  // namespace

void TimelineBuilder::addEvent(const TraceEvent& event) {
  if (!isDeviceWork(event.type) || event.duration == 0) return;
  // Times are ns since the machine started: what lies beyond is damage.
  constexpr auto kLast = static_cast<Timestamp>(std::numeric_limits<int64_t>::max());
  const Timestamp start = std::min(event.timestamp, kLast);
  spans_.push_back({event.correlation_id, event.device_id, event.stream_id, event.type, event.name,
                    start, start + std::min<Timestamp>(event.duration, kLast - start)});
}

void TimelineBuilder::addEvents(std::span<const TraceEvent> events) {
  for (const TraceEvent& event : events) addEvent(event);
}

Timeline TimelineBuilder::build() const {
  Timeline timeline;
  timeline.spans = spans_;
  std::stable_sort(timeline.spans.begin(), timeline.spans.end(),
                   [](const TimelineSpan& a, const TimelineSpan& b) {
                     return std::tie(a.start_time, a.end_time) < std::tie(b.start_time, b.end_time);
                   });
  if (timeline.spans.empty()) return timeline;
  std::vector<Interval> all;
  Timestamp end = 0;
  for (const TimelineSpan& span : timeline.spans) {
    all.push_back({static_cast<int64_t>(span.start_time), static_cast<int64_t>(span.end_time)});
    end = std::max(end, span.end_time);
  }
  timeline.total_duration = end - timeline.spans.front().start_time;
  timeline.max_concurrent_ops = concurrencyOf(all).most;
  const std::vector<DeviceUse> uses = deviceUse(streamsOf(timeline));
  for (const DeviceUse& use : uses) timeline.gpu_utilization += use.utilization;
  timeline.gpu_utilization /= static_cast<double>(std::max<size_t>(uses.size(), 1));
  return timeline;
}

std::vector<StreamTimeline> streamsOf(const Timeline& timeline) {
  std::map<std::pair<uint32_t, uint32_t>, StreamTimeline> streams;
  for (size_t i = 0; i < timeline.spans.size(); ++i) {
    const TimelineSpan& span = timeline.spans[i];
    streams[{span.device_id, span.stream_id}].spans.push_back(
        {static_cast<int64_t>(span.start_time), static_cast<int64_t>(span.end_time),
         tableOf(span.type), static_cast<uint32_t>(i)});
  }
  std::vector<StreamTimeline> out;
  for (auto& [key, stream] : streams) {
    stream.device = idAt<DeviceId>(key.first);
    stream.stream = idAt<StreamId>(out.size());
    out.push_back(std::move(stream));
  }
  return out;
}

}  // namespace tracesmith
