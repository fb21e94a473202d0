// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/perfetto/perfetto_gpu_counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "tracesmith/base/proto_reader.hpp"
#include "tracesmith/import/perfetto/perfetto_numbers.hpp"

namespace tracesmith::import {
namespace {

namespace pg = perfetto_numbers::gpu_counter;
using proto::Field;

/// Perfetto's GpuCounterDescriptor.MeasureUnit.
constexpr std::array<std::string_view, 41> kUnits = {
    "",         "bit", "kbit",      "Mbit",     "Gbit",        "Tbit", "Pbit", "bytes",  "kB",
    "MB",       "GB",  "TB",        "PB",       "Hz",          "kHz",  "MHz",  "GHz",    "THz",
    "PHz",      "ns",  "us",        "ms",       "s",           "min",  "h",    "vertex", "pixel",
    "triangle", "mW",  "W",         "kW",       "J",           "V",    "A",    "C",      "F",
    "K",        "%",   "primitive", "fragment", "instructions"};

std::string_view unitOf(uint64_t unit) {
  return unit < kUnits.size() ? kUnits[unit] : std::string_view{};
}

}  // namespace

void PerfettoGpuCounters::learn(uint64_t set, int64_t gpu, std::string_view descriptor) {
  proto::forEachField(descriptor, [&](const Field& f) {
    if (f.number != pg::kSpecs) return;
    uint64_t id = 0;
    bool forwards = false;
    std::string_view name;
    std::string unit;
    proto::forEachField(f.bytes, [&](const Field& g) {
      if (g.number == pg::kSpecId) id = g.value;
      if (g.number == pg::kSpecName) name = g.bytes;
      if (g.number == pg::kDirection) forwards = g.value == pg::kForwards;
      if (g.number != pg::kNumerator && g.number != pg::kDenominator) return;
      for (const uint64_t u : packedVarints(g.wire_type, g.value, g.bytes)) {
        if (unitOf(u).empty()) continue;
        if (g.number == pg::kDenominator) unit += '/';
        unit += unitOf(u);
      }
    });
    const StringId named = builder_.text(name);
    describing_sets_[id].insert(set);
    counters_[{set, id}] = {
        .track = builder_.counterTrack(
            {.name = named, .unit = builder_.text(unit), .device_id = builder_.device(gpu)}),
        .name = named,
        .forwards = forwards};
  });
}

/// A sample without a GPU means the one whose counters have this id, if there is only one.
const PerfettoGpuCounters::Counter& PerfettoGpuCounters::known(uint64_t set, uint64_t id,
                                                               std::optional<int64_t> gpu) {
  const auto described = describing_sets_.find(id);
  if (!gpu && described != describing_sets_.end() && described->second.size() == 1) {
    set = *described->second.begin();
  }
  const auto [it, fresh] = counters_.try_emplace({set, id});
  if (fresh) {
    it->second.name = builder_.text(fmt::format("counter {}", id));
    it->second.track = builder_.counterTrack(
        {.name = it->second.name, .device_id = builder_.device(gpu.value_or(0))});
  }
  return it->second;
}

PerfettoOutcome PerfettoGpuCounters::event(const PerfettoSequence& sequence, uint64_t sequence_id,
                                           std::optional<int64_t> time, std::string_view bytes) {
  std::optional<int64_t> gpu;
  std::string_view descriptor;
  std::optional<uint64_t> iid;
  bool any = false;
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number == pg::kGpuId) gpu = static_cast<int32_t>(f.value);
    if (f.number == pg::kDescriptor) descriptor = f.bytes;
    if (f.number == pg::kDescriptorIid) iid = f.value;
    if (f.number == pg::kCounters) any = true;
  });
  // A set of counters: one per GPU (old form), or one interned on this sequence.
  uint64_t set = static_cast<uint32_t>(gpu.value_or(0));
  if (iid) {
    const auto it = sequence.counter_descriptors.find(*iid);
    if (it == sequence.counter_descriptors.end()) return PerfettoOutcome::kUnusable;
    CounterSet& known = known_sets_[{sequence_id, *iid}];
    gpu = it->second.gpu;
    if (known.number == 0 || known.descriptor != it->second.bytes) {
      known = {next_set_++, std::string(it->second.bytes)};
      learn(known.number, *gpu, it->second.bytes);
    }
    set = known.number;
  } else if (!descriptor.empty()) {
    learn(set, gpu.value_or(0), descriptor);
  }
  if (!any) return PerfettoOutcome::kDescription;
  if (!time) return PerfettoOutcome::kUnusable;
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number != pg::kCounters) return;
    std::optional<uint64_t> id;
    std::optional<double> value;
    proto::forEachField(f.bytes, [&](const Field& g) {
      if (g.number == pg::kId) id = g.value;
      if (g.number == pg::kInt) value = static_cast<double>(static_cast<int64_t>(g.value));
      if (g.number == pg::kDouble) value = std::bit_cast<double>(g.value);
    });
    if (!id || !value) {
      ++incomplete_;
      return;
    }
    const Counter& counter = known(set, *id, gpu);
    const Reading reading = {counter.track, counter.name, *time, *value};
    if (counter.forwards) {
      push(counter.track, *time, *value);
    } else if (first_pass_.unordered_gpu_counters) {
      unordered_.push_back(reading);
    } else {
      read(reading);
    }
  });
  return PerfettoOutcome::kRow;
}

void PerfettoGpuCounters::read(const Reading& reading) {
  const auto [last, fresh] = last_ns_.try_emplace(reading.track, reading.time_ns);
  if (!fresh) {
    push(reading.track, last->second, reading.value);
    last->second = reading.time_ns;
    return;
  }
  ++without_span_;
  KeptEvent kept;
  kept.integer("timestamp", reading.time_ns);
  kept.text("counter", reading.name);
  kept.json("value", builder_.json(jsonNumber(reading.value)));
  kept_.keep(SourceRows::kNone, kept);
  builder_.added();
}

void PerfettoGpuCounters::push(CounterTrackId track, int64_t time_ns, double value) {
  builder_.rows.counter.push({.time_ns = time_ns, .track_id = track, .value = value});
  builder_.added();
}

void PerfettoGpuCounters::finish() {
  std::stable_sort(unordered_.begin(), unordered_.end(),
                   [](const Reading& a, const Reading& b) { return a.time_ns < b.time_ns; });
  for (const Reading& reading : unordered_) read(reading);
  for (const auto& [track, last_ns] : last_ns_) push(track, last_ns, 0);
}

}  // namespace tracesmith::import
