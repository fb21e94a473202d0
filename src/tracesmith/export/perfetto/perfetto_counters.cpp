// SPDX-License-Identifier: Apache-2.0
// Writes counters and total allocated memory as counter tracks. Each memory value is the absolute
// sum, not a difference, so that truncated files and parts of a trace stay correct.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>

#include "tracesmith/export/perfetto/perfetto_encoder.hpp"
#include "tracesmith/export/slices/counter_series.hpp"

namespace tracesmith::perfetto {

void Encoder::openCounter(Sequence& q, int64_t ns, uint64_t uuid, uint64_t parent,
                          std::string_view name, std::string_view unit,
                          std::string_view description) {
  packets_.open(q, ns, uuid, 0, [](proto::Cursor&) {});
  packets_.untimed(q, 160 + name.size() + unit.size() + description.size(), [&](proto::Cursor& c) {
    c.message<packet::kTrackDescriptor>([&] {
      c.uint<track::kUuid>(uuid);
      if (parent != 0) c.uint<track::kParentUuid>(parent);
      c.text<track::kName>(name);
      if (!description.empty()) c.text<track::kDescription>(description);
      c.message<track::kCounter>([&] {
        namespace k = track::counter;
        if (unit == "bytes" || unit == "B") {
          c.uint<k::kUnit>(k::kUnitBytes);
        } else if (unit == "ns") {
          c.uint<k::kUnit>(k::kUnitTimeNs);
        } else if (unit == "count") {
          c.uint<k::kUnit>(k::kUnitCount);
        } else if (!unit.empty()) {
          c.text<k::kUnitName>(unit);
        }
      });
    });
  });
}

void Encoder::writeCounterValue(Sequence& q, int64_t ns, double value) {
  // Whole numbers are shorter as integers. Beyond 2^53 a double may not be exact.
  const bool whole = std::abs(value) < 9007199254740992.0 && value == std::floor(value);
  packets_.timed(q, ns, 48, [&](proto::Cursor& c) {
    c.message<packet::kTrackEvent>([&] {
      c.uint<event::kType>(event::kCounter);
      if (whole) {
        c.sint<event::kCounterValue>(static_cast<int64_t>(value));
      } else {
        c.real<event::kDoubleCounterValue>(value);
      }
    });
  });
  ++events_;
}

void Encoder::writeCounters() {
  const CounterTrackTable& tracks = trace_.counter_track;
  Sequence q;
  CounterTrackId current{};
  forEachCounterValue(trace_, selection_, [&](CounterTrackId id, int64_t ns, double value) {
    if (q.id == 0 || id != current) {
      current = id;
      q = Sequence{};
      std::string name = "Unknown counter";
      std::string_view unit;
      uint64_t parent = 0;
      if (id != CounterTrackId::kNone) {
        const size_t t = indexOf(id);
        name = std::string(text(tracks.name[t])) + threadOfCounter(trace_, id);
        unit = text(tracks.unit[t]);
        parent = processUuid(tracks.process_id[t]);
        const auto d = static_cast<size_t>(tracks.device_id[t]);
        if (d != 0 && d <= trace_.device.size()) {
          name = fmt::format("{} {}: {}", deviceWord(trace_.device.kind[d - 1]),
                             trace_.device.ordinal[d - 1], name);
        }
      }
      openCounter(q, ns, packets_.uuid(TrackKind::kCounter, static_cast<uint64_t>(id)), parent,
                  name, unit, {});
    }
    writeCounterValue(q, ns, value);
  });
}

void Encoder::writeAllocatedMemory() {
  std::map<MemoryPool, Sequence> sequences;
  unmatched_frees_ = forEachMemoryValue(
      trace_, selection_, [&](const MemoryPool& pool, int64_t ns, uint64_t bytes) {
        Sequence& q = sequences[pool];
        if (q.id == 0) {
          const uint64_t of = static_cast<uint64_t>(pool.context) << 1 | (pool.on_host ? 1 : 0);
          openCounter(q, ns,
                      packets_.uuid(TrackKind::kMemory, static_cast<uint64_t>(pool.process), of),
                      processUuid(pool.process), memoryPoolName(trace_, pool), "bytes",
                      "sum of the allocations seen that have not been released");
        }
        writeCounterValue(q, ns, static_cast<double>(bytes));
      });
}

}  // namespace tracesmith::perfetto
