// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/timeline_builder.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/state/span_sweep.hpp"

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

EventType typeOf(const KernelTable&, size_t) { return EventType::KernelComplete; }
EventType typeOf(const FillTable&, size_t) { return EventType::MemsetDevice; }
EventType typeOf(const CopyTable& copies, size_t i) {
  switch (copies.kind[i]) {
    case CopyKind::kHostToDevice:
      return EventType::MemcpyH2D;
    case CopyKind::kDeviceToHost:
      return EventType::MemcpyD2H;
    default:
      return EventType::MemcpyD2D;
  }
}

/// Calls f(table) for the tables of device work that counts as work.
template <class F>
void forEachWork(const Trace& trace, F&& f) {
  f(trace.kernel);
  f(trace.copy);
  f(trace.fill);
}

/// Limits a duration so that the end does not overflow.
uint64_t lengthFrom(int64_t start_ns, int64_t duration_ns) {
  return static_cast<uint64_t>(endOf(start_ns, duration_ns) - start_ns);
}

/// True if a row is work with known times.
template <class Table>
bool counts(const Table& table, size_t i) {
  constexpr uint32_t kNotKnown = op_flags::kDeviceClock | op_flags::kNoDeviceTime;
  return (table.flags[i] & kNotKnown) == 0 && table.duration_ns[i] > 0;
}

}  // namespace

/// Distributes spans to their streams: counts them by stream first, then places each once.
class TimelineMaker {
 public:
  using Key = std::pair<uint32_t, uint32_t>;  // device and stream

  /// `keys` may be in any order; `counts[k]` spans of keys[k] will follow.
  TimelineMaker(const std::vector<Key>& keys, const std::vector<size_t>& counts) {
    std::vector<size_t> order(keys.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return keys[a] < keys[b]; });
    next_.resize(keys.size());
    size_t at = 0;
    for (const size_t k : order) {
      if (counts[k] == 0) continue;
      next_[k] = at;
      // Streams of several processes may share a number.
      if (!spans_.streams_.empty() && spans_.streams_.back().device_id == keys[k].first &&
          spans_.streams_.back().stream_id == keys[k].second) {
        spans_.streams_.back().end += counts[k];
      } else {
        spans_.streams_.push_back({keys[k].first, keys[k].second, at, at + counts[k]});
      }
      at += counts[k];
    }
    spans_.resize(at);
  }
  void add(size_t key, int64_t start, uint64_t duration, uint32_t name, uint64_t correlation,
           EventType type) {
    spans_.set(next_[key]++, start, duration, name, correlation, type);
  }
  Timeline finish(StringTable names) {
    spans_.names_ = std::move(names);
    for (const TimelineSpans::Stream& stream : spans_.streams_) {
      if (isCancelled()) return {};
      spans_.sortStream(stream);
    }
    Timeline timeline;
    const SpanSweep sweep = SpanSweep::of(spans_);
    if (isCancelled()) return {};
    timeline.total_duration = static_cast<uint64_t>(lengthOf(sweep.begin_ns, sweep.end_ns));
    timeline.max_concurrent_ops = sweep.most_concurrent;
    timeline.time_at_concurrency = sweep.time_at;
    for (const SpanSweep::Device& d : sweep.devices) {
      Timeline::Device device{.device_id = d.device_id,
                              .begin_ns = d.begin_ns,
                              .end_ns = d.end_ns,
                              .busy_ns = d.busy_ns,
                              .kernel_ns = d.kernel_ns,
                              .most_concurrent = d.most_concurrent};
      const int64_t span = lengthOf(d.begin_ns, d.end_ns);
      if (span > 0) {
        device.utilization = static_cast<double>(d.kernel_ns) / static_cast<double>(span);
      }
      timeline.gpu_utilization += device.utilization;
      timeline.devices.push_back(device);
    }
    timeline.gpu_utilization /= static_cast<double>(std::max<size_t>(sweep.devices.size(), 1));
    timeline.spans = std::move(spans_);
    return timeline;
  }

 private:
  TimelineSpans spans_;
  std::vector<size_t> next_;
};

uint32_t TimelineBuilder::findOrAddStream(uint32_t device, uint32_t stream) {
  const auto [it, fresh] = stream_indices_.try_emplace(uint64_t{device} << 32 | stream,
                                                       static_cast<uint32_t>(streams_.size()));
  if (fresh) streams_.emplace_back(device, stream);
  return it->second;
}

void TimelineBuilder::addEvent(const TraceEvent& event) {
  if (!isDeviceWork(event.type) || event.duration == 0) return;
  // Times are ns since the machine started: larger values are damage.
  constexpr auto kLast = static_cast<Timestamp>(std::numeric_limits<int64_t>::max());
  const Timestamp start = std::min(event.timestamp, kLast);
  pending_.start.push_back(static_cast<int64_t>(start));
  pending_.duration.push_back(std::min<Timestamp>(event.duration, kLast - start));
  pending_.correlation.push_back(event.correlation_id);
  pending_.name.push_back(static_cast<uint32_t>(names_.intern(event.name)));
  pending_.stream.push_back(findOrAddStream(event.device_id, event.stream_id));
  pending_.type.push_back(static_cast<uint8_t>(event.type));
}

void TimelineBuilder::addEvents(std::span<const TraceEvent> events) {
  for (const TraceEvent& event : events) addEvent(event);
}

namespace {

/// Device and stream numbers of each stream of a trace, as in TraceEvents; the first entry is for
/// rows without a stream.
std::vector<TimelineMaker::Key> keysOf(const Trace& trace) {
  const std::vector<uint32_t> devices = deviceNumbers(trace);
  const std::vector<uint32_t> streams = streamNumbers(trace);
  std::vector<TimelineMaker::Key> keys = {{0, 0}};
  for (size_t i = 0; i < trace.stream.size(); ++i) {
    const auto device = static_cast<size_t>(trace.stream.device_id[i]);
    keys.emplace_back(device == 0 || device > devices.size() ? 0 : devices[device - 1], streams[i]);
  }
  return keys;
}

}  // namespace

void TimelineBuilder::addTrace(const Trace& trace) {
  const std::vector<TimelineMaker::Key> keys = keysOf(trace);
  std::vector<uint32_t> places;
  for (const auto& key : keys) places.push_back(findOrAddStream(key.first, key.second));
  std::vector<uint32_t> names(trace.strings.size() + 1, 0);
  forEachWork(trace, [&](const auto& table) {
    for (size_t i = 0; i < table.size(); ++i) {
      if (!counts(table, i)) continue;
      const auto s = static_cast<size_t>(table.stream_id[i]);
      const auto n = static_cast<size_t>(table.name[i]);
      if (n < names.size() && n != 0 && names[n] == 0) {
        names[n] = static_cast<uint32_t>(names_.intern(trace.text(table.name[i])));
      }
      pending_.start.push_back(table.start_ns[i]);
      pending_.duration.push_back(lengthFrom(table.start_ns[i], table.duration_ns[i]));
      pending_.correlation.push_back(table.correlation_id[i]);
      pending_.name.push_back(n < names.size() ? names[n] : 0);
      pending_.stream.push_back(places[s < places.size() ? s : 0]);
      pending_.type.push_back(static_cast<uint8_t>(typeOf(table, i)));
    }
  });
}

Timeline TimelineBuilder::build() const {
  std::vector<size_t> counts(streams_.size(), 0);
  for (const uint32_t s : pending_.stream) ++counts[s];
  TimelineMaker maker(streams_, counts);
  for (size_t i = 0; i < pending_.start.size(); ++i) {
    if (isCancelledAt(i)) return {};
    maker.add(pending_.stream[i], pending_.start[i], pending_.duration[i], pending_.name[i],
              pending_.correlation[i], static_cast<EventType>(pending_.type[i]));
  }
  return maker.finish(names_);
}

Timeline timelineOf(const Trace& trace) {
  const std::vector<TimelineMaker::Key> keys = keysOf(trace);
  std::vector<size_t> totals(keys.size(), 0);
  const auto streamOf = [&](const auto& table, size_t i) {
    const auto s = static_cast<size_t>(table.stream_id[i]);
    return s < keys.size() ? s : 0;
  };
  forEachWork(trace, [&](const auto& table) {
    for (size_t i = 0; i < table.size(); ++i) {
      if (counts(table, i)) ++totals[streamOf(table, i)];
    }
  });
  TimelineMaker maker(keys, totals);
  forEachWork(trace, [&](const auto& table) {
    for (size_t i = 0; i < table.size() && !isCancelledAt(i); ++i) {
      if (!counts(table, i)) continue;
      maker.add(streamOf(table, i), table.start_ns[i],
                lengthFrom(table.start_ns[i], table.duration_ns[i]),
                static_cast<uint32_t>(table.name[i]), table.correlation_id[i], typeOf(table, i));
    }
  });
  return maker.finish(trace.strings);
}

std::vector<StreamTimeline> streamsOf(const Timeline& timeline) {
  std::vector<StreamTimeline> out;
  for (const TimelineSpans::Stream& s : timeline.spans.streams()) {
    StreamTimeline stream{
        .stream = idAt<StreamId>(out.size()), .device = idAt<DeviceId>(s.device_id), .spans = {}};
    for (size_t i = s.begin; i < s.end; ++i) {
      stream.spans.push_back({timeline.spans.startNs(i), timeline.spans.endNs(i),
                              tableOf(timeline.spans.type(i)), static_cast<uint32_t>(i)});
    }
    out.push_back(std::move(stream));
  }
  return out;
}

}  // namespace tracesmith
