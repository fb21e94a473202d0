// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/counter_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tracesmith/export/slices/counter_series.hpp"
#include "tracesmith/model/names/device_names.hpp"

namespace tracesmith::studio {
namespace {

CounterSeries seriesOf(const Trace& trace, CounterTrackId id) {
  CounterSeries out;
  out.label = "unknown counter";
  if (id == CounterTrackId::kNone || indexOf(id) >= trace.counter_track.size()) return out;
  const CounterTrackTable& tracks = trace.counter_track;
  out.label = std::string(trace.text(tracks.name[indexOf(id)])) + threadOfCounter(trace, id);
  out.unit = trace.text(tracks.unit[indexOf(id)]);
  const DeviceId device = tracks.device_id[indexOf(id)];
  if (device != DeviceId::kNone) {
    out.label = fmt::format("{}: {}", deviceName(trace, device), out.label);
  }
  return out;
}

void add(CounterSeries& to, int64_t ns, double value) {
  to.times_ns.push_back(ns);
  to.values.push_back(value);
}

}  // namespace

std::vector<CounterSeries> counterSeriesOf(const Trace& trace) {
  const Selection all(trace, {}, {}, {});
  std::map<CounterTrackId, CounterSeries> counters;
  forEachCounterValue(trace, all, [&](CounterTrackId id, int64_t ns, double value) {
    auto known = counters.find(id);
    if (known == counters.end()) known = counters.emplace(id, seriesOf(trace, id)).first;
    add(known->second, ns, value);
  });
  std::map<MemoryPool, CounterSeries> pools;
  forEachMemoryValue(trace, all, [&](const MemoryPool& pool, int64_t ns, uint64_t bytes) {
    CounterSeries& series = pools[pool];
    if (series.label.empty()) {
      series.label = memoryPoolName(trace, pool);
      series.unit = "bytes";
    }
    add(series, ns, static_cast<double>(bytes));
  });
  std::vector<CounterSeries> out;
  for (auto& [id, series] : counters) out.push_back(std::move(series));
  for (auto& [pool, series] : pools) out.push_back(std::move(series));
  return out;
}

std::vector<CounterPoint> pointsOf(const CounterSeries& series, int64_t begin_ns, int64_t end_ns,
                                   size_t columns) {
  std::vector<CounterPoint> out;
  const std::vector<int64_t>& times = series.times_ns;
  size_t i =
      static_cast<size_t>(std::upper_bound(times.begin(), times.end(), begin_ns) - times.begin());
  if (i > 0) out.push_back({begin_ns, series.values[i - 1], series.values[i - 1]});
  const auto step = static_cast<double>(lengthOf(begin_ns, end_ns)) / static_cast<double>(columns);
  while (i < times.size() && times[i] < end_ns) {
    const auto column = std::floor(static_cast<double>(lengthOf(begin_ns, times[i])) / step);
    const int64_t until = endOf(begin_ns, static_cast<int64_t>((column + 1) * step));
    CounterPoint point{times[i], series.values[i], series.values[i]};
    for (++i; i < times.size() && times[i] < std::min(until, end_ns); ++i) {
      point.least = std::min(point.least, series.values[i]);
      point.greatest = std::max(point.greatest, series.values[i]);
    }
    // What holds until the next point comes last.
    out.push_back(point);
    if (point.least != point.greatest) {
      out.push_back({times[i - 1], series.values[i - 1], series.values[i - 1]});
    }
  }
  return out;
}

}  // namespace tracesmith::studio
