// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/live_memory.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
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
  // By address: the places where it is live; nearly always one.
  struct Place {
    DeviceId device{};
    ProcessId process{};
    uint64_t bytes = 0;
  };
  std::unordered_multimap<uint64_t, Place> live;
  std::vector<MemoryChange> out;
  out.reserve(order.size());
  for (size_t n = 0; n < order.size() && !isCancelledAt(n); ++n) {
    const uint32_t row = order[n];
    const bool adds = events.kind[row] == MemoryKind::kAlloc;
    const uint64_t address = events.address[row];
    if ((!adds && events.kind[row] != MemoryKind::kFree) || address == 0) continue;
    MemoryChange change{.row = row, .device = deviceNamedBy(trace, row)};
    const auto [begin, end] = live.equal_range(address);
    auto found = end;
    auto elsewhere = end;
    for (auto at = begin; at != end; ++at) {
      if (at->second.process != events.process_id[row]) continue;
      (at->second.device == change.device ? found : elsewhere) = at;
    }
    if (!adds && found == end && change.device == DeviceId::kNone && elsewhere != end) {
      found = elsewhere;
      change.device = found->second.device;
    }
    change.known = adds || found != end;
    if (found != end) {
      change.taken = found->second.bytes;
      live.erase(found);
    }
    if (adds) {
      change.added = events.bytes[row];
      live.insert({address, {change.device, events.process_id[row], change.added}});
    }
    out.push_back(change);
  }
  return out;
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
