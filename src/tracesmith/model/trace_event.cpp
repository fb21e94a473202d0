// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/trace_event.hpp"

#include <strings.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/model/live_memory.hpp"

namespace tracesmith {
namespace {

constexpr std::array<const char*, kEventTypeCount> kNames = {
    "Unknown",       "KernelLaunch",  "KernelComplete", "MemcpyH2D",    "MemcpyD2H", "MemcpyD2D",
    "MemsetDevice",  "StreamSync",    "DeviceSync",     "EventRecord",  "EventSync", "StreamCreate",
    "StreamDestroy", "ContextCreate", "ContextDestroy", "MemAlloc",     "MemFree",   "Marker",
    "RangeStart",    "RangeEnd",      "NCCLStart",      "NCCLComplete", "Custom",
};

template <class Keep>
std::vector<TraceEvent> filter(const std::vector<TraceEvent>& events, Keep keep) {
  std::vector<TraceEvent> kept;
  std::copy_if(events.begin(), events.end(), std::back_inserter(kept), keep);
  return kept;
}

/// `ordinals` if they are distinct, else 0, 1, 2, …
template <class Keys>
std::vector<uint32_t> distinctOrdinals(const Column<uint32_t>& given, const Keys& keys) {
  std::vector<uint32_t> ordinals(given.begin(), given.end());
  if (std::set<typename Keys::value_type>(keys.begin(), keys.end()).size() != keys.size()) {
    for (size_t i = 0; i < ordinals.size(); ++i) ordinals[i] = static_cast<uint32_t>(i);
  }
  return ordinals;
}

uint64_t numberOr(std::string_view text, uint64_t otherwise) {
  uint64_t value = 0;
  if (text.empty()) return otherwise;
  for (char c : text) {
    if (c < '0' || c > '9') return otherwise;
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  return value;
}

}  // namespace

const char* eventTypeToString(EventType type) {
  const auto i = static_cast<size_t>(type);
  return i < kNames.size() ? kNames[i] : kNames[0];
}

std::optional<EventType> eventTypeFromString(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (strcasecmp(kNames[i], std::string(name).c_str()) == 0) return static_cast<EventType>(i);
  }
  return std::nullopt;
}

void TraceRecord::clear() {
  events_.clear();
  metadata_ = {};
}

void TraceRecord::sortByTimestamp() {
  std::stable_sort(events_.begin(), events_.end(), [](const TraceEvent& a, const TraceEvent& b) {
    return a.timestamp < b.timestamp;
  });
}

std::vector<TraceEvent> TraceRecord::filterByType(EventType type) const {
  return filter(events_, [&](const TraceEvent& e) { return e.type == type; });
}
std::vector<TraceEvent> TraceRecord::filterByStream(uint32_t stream_id) const {
  return filter(events_, [&](const TraceEvent& e) { return e.stream_id == stream_id; });
}
std::vector<TraceEvent> TraceRecord::filterByDevice(uint32_t device_id) const {
  return filter(events_, [&](const TraceEvent& e) { return e.device_id == device_id; });
}

std::vector<uint32_t> deviceNumbers(const Trace& trace) {
  return distinctOrdinals(trace.device.ordinal, trace.device.ordinal);
}

std::vector<uint32_t> streamNumbers(const Trace& trace) {
  std::vector<std::pair<uint32_t, uint32_t>> keys;
  for (size_t i = 0; i < trace.stream.size(); ++i) {
    keys.emplace_back(static_cast<uint32_t>(trace.stream.device_id[i]), trace.stream.ordinal[i]);
  }
  return distinctOrdinals(trace.stream.ordinal, keys);
}

std::vector<DeviceInfo> deviceInfos(const Trace& trace) {
  const std::vector<uint32_t> numbers = deviceNumbers(trace);
  std::vector<DeviceInfo> infos;
  for (size_t i = 0; i < trace.device.size(); ++i) {
    const DeviceRow row = trace.device.row(i);
    DeviceInfo info;
    info.device_id = numbers[i];
    info.name = trace.text(row.name);
    info.vendor = trace.text(row.vendor);
    info.compute_major = row.compute_major;
    info.compute_minor = row.compute_minor;
    info.total_memory = row.memory_bytes;
    info.memory_clock_rate = row.memory_clock_mhz;
    info.memory_bus_width = row.memory_bus_bits;
    info.multiprocessor_count = row.compute_units;
    info.max_threads_per_mp = row.max_threads_per_unit;
    info.clock_rate = row.clock_mhz;
    info.warp_size = row.warp_size;
    infos.push_back(std::move(info));
  }
  return infos;
}

TraceMetadata traceMetadata(const Trace& trace) {
  TraceMetadata metadata;
  metadata.application_name = trace.metadataValue("application_name");
  metadata.command_line = trace.metadataValue("command_line");
  metadata.hostname = trace.metadataValue("hostname");
  ProcessRow root;
  for (size_t i = 0; i < trace.process.size(); ++i) {
    if ((trace.process.flags[i] & process_flags::kRoot) != 0) root = trace.process.row(i);
  }
  if (metadata.command_line.empty()) metadata.command_line = trace.text(root.command_line);
  if (metadata.application_name.empty()) {
    const std::string_view path = trace.text(root.executable);
    metadata.application_name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  }
  const TimeRange range = timeRange(trace);
  metadata.start_time =
      numberOr(trace.metadataValue("start_time"), static_cast<uint64_t>(range.begin_ns));
  metadata.end_time =
      numberOr(trace.metadataValue("end_time"), static_cast<uint64_t>(range.end_ns));
  metadata.process_id =
      static_cast<uint32_t>(numberOr(trace.metadataValue("process_id"), root.pid));
  metadata.devices = deviceInfos(trace);
  return metadata;
}

std::vector<MemoryEvent> toMemoryEvents(const Trace& trace) {
  const std::vector<uint32_t> devices = deviceNumbers(trace);
  const std::vector<DeviceId> places = memoryDevices(trace);
  std::vector<MemoryEvent> events;
  for (size_t i = 0; i < trace.memory_event.size() && !isCancelledAt(i); ++i) {
    const MemoryEventRow row = trace.memory_event.row(i);
    if (row.kind != MemoryKind::kAlloc && row.kind != MemoryKind::kFree) continue;
    MemoryEvent event;
    event.timestamp = static_cast<uint64_t>(row.time_ns);
    const auto device = static_cast<size_t>(places[i]);
    event.device_id = device != 0 && device <= devices.size() ? devices[device - 1] : kHostMemory;
    const auto thread = static_cast<size_t>(row.thread_id);
    if (thread != 0 && thread <= trace.thread.size())
      event.thread_id = trace.thread.tid[thread - 1];
    event.bytes = row.bytes;
    event.ptr = row.address;
    event.is_allocation = row.kind == MemoryKind::kAlloc;
    event.allocator_name = trace.text(row.name);
    events.push_back(std::move(event));
  }
  return events;
}

std::vector<CounterEvent> toCounterEvents(const Trace& trace) {
  const std::vector<uint32_t> devices = deviceNumbers(trace);
  std::vector<CounterEvent> events;
  for (size_t i = 0; i < trace.counter.size() && !isCancelledAt(i); ++i) {
    const CounterRow row = trace.counter.row(i);
    CounterEvent event;
    event.timestamp = static_cast<uint64_t>(row.time_ns);
    event.track_id = static_cast<uint32_t>(row.track_id);
    event.value = row.value;
    if (event.track_id != 0 && event.track_id <= trace.counter_track.size()) {
      const CounterTrackRow track = trace.counter_track.row(event.track_id - 1);
      event.counter_name = trace.text(track.name);
      event.unit = trace.text(track.unit);
      const auto device = static_cast<size_t>(track.device_id);
      if (device != 0 && device <= devices.size()) event.device_id = devices[device - 1];
    }
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace tracesmith
