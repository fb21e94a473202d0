// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/live_memory.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "tracesmith/base/cancellation.hpp"

namespace tracesmith {
namespace {

DeviceId deviceNamedBy(const Trace& trace, uint32_t row) {
  const MemoryEventTable& events = trace.memory_event;
  if (events.device_id[row] != DeviceId::kNone) return events.device_id[row];
  const auto context = static_cast<size_t>(events.context_id[row]);
  return context == 0 || context > trace.context.size() ? DeviceId::kNone
                                                        : trace.context.device_id[context - 1];
}

}  // namespace

LiveMemory::Change LiveMemory::apply(const Event& event) {
  Change change{.place = event.place};
  const auto [begin, end] = live_.equal_range(event.address);
  auto found = end;
  auto elsewhere = end;
  for (auto at = begin; at != end; ++at) {
    if (at->second.process != event.process) continue;
    (at->second.place == event.place ? found : elsewhere) = at;
  }
  if (!event.is_allocation && found == end && event.place == kHostMemory && elsewhere != end) {
    found = elsewhere;
    change.place = found->second.place;
  }
  change.known = event.is_allocation || found != end;
  if (found != end) {
    change.takes = true;
    change.taken = found->second.bytes;
    change.taken_row = found->second.row;
    live_.erase(found);
  }
  if (event.is_allocation) {
    change.added = event.bytes;
    live_.insert({event.address, {change.place, event.row, event.process, event.bytes}});
  }
  return change;
}

std::vector<MemoryChange> memoryChanges(const Trace& trace) {
  const MemoryEventTable& events = trace.memory_event;
  std::vector<uint32_t> order(events.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto earlier = [&](uint32_t a, uint32_t b) {
    return events.time_ns[a] < events.time_ns[b];
  };
  if (!std::is_sorted(order.begin(), order.end(), earlier)) {
    std::stable_sort(order.begin(), order.end(), earlier);
  }
  LiveMemory live;
  std::vector<MemoryChange> out;
  out.reserve(order.size());
  for (size_t n = 0; n < order.size() && !isCancelledAt(n); ++n) {
    const uint32_t row = order[n];
    const MemoryKind kind = events.kind[row];
    if (kind != MemoryKind::kAlloc && kind != MemoryKind::kFree) continue;
    if (events.address[row] == 0) continue;
    const DeviceId named = deviceNamedBy(trace, row);
    const LiveMemory::Change change =
        live.apply({.is_allocation = kind == MemoryKind::kAlloc,
                    .place = named == DeviceId::kNone ? kHostMemory : static_cast<uint32_t>(named),
                    .process = static_cast<uint64_t>(events.process_id[row]),
                    .address = events.address[row],
                    .bytes = events.bytes[row],
                    .row = row});
    out.push_back({.row = row,
                   .device = change.place == kHostMemory ? DeviceId::kNone : DeviceId{change.place},
                   .added = change.added,
                   .taken = change.taken,
                   .takes = change.takes,
                   .taken_row = change.taken_row,
                   .known = change.known});
  }
  return out;
}

std::vector<DeviceId> memoryDevices(const Trace& trace) {
  std::vector<DeviceId> places(trace.memory_event.size());
  for (uint32_t row = 0; row < places.size(); ++row) places[row] = deviceNamedBy(trace, row);
  for (const MemoryChange& change : memoryChanges(trace)) places[change.row] = change.device;
  return places;
}

MemoryUsage memoryUsage(const Trace& trace) {
  std::map<DeviceId, MemoryTotals> places;
  MemoryUsage out;
  for (const MemoryChange& change : memoryChanges(trace)) {
    const bool adds = trace.memory_event.kind[change.row] == MemoryKind::kAlloc;
    MemoryTotals& place = places[change.device];
    place.device = change.device;
    for (MemoryTotals* const use : {&place, &out.all}) {
      ++(adds ? use->allocations : use->frees);
      use->allocated_bytes += change.added;
      if (!adds) use->freed_bytes += change.taken;
      use->live_bytes += change.added - change.taken;
      if (use->live_bytes <= use->peak_bytes) continue;
      use->peak_bytes = use->live_bytes;
      use->peak_ns = trace.memory_event.time_ns[change.row];
    }
  }
  for (const auto& [device, use] : places) out.places.push_back(use);
  return out;
}

std::vector<MemoryCurve> memoryCurves(const Trace& trace) {
  std::map<DeviceId, MemoryCurve> curves;
  for (const MemoryChange& change : memoryChanges(trace)) {
    MemoryCurve& curve = curves[change.device];
    curve.device = change.device;
    const uint64_t before = curve.bytes.empty() ? 0 : curve.bytes.back();
    curve.times_ns.push_back(trace.memory_event.time_ns[change.row]);
    curve.bytes.push_back(before + change.added - change.taken);
  }
  std::vector<MemoryCurve> out;
  for (auto& [device, curve] : curves) out.push_back(std::move(curve));
  return out;
}

}  // namespace tracesmith
