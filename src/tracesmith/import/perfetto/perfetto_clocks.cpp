// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/perfetto/perfetto_clocks.hpp"

#include <algorithm>
#include <deque>
#include <set>

#include "tracesmith/base/proto_reader.hpp"
#include "tracesmith/import/common/source_numbers.hpp"
#include "tracesmith/import/perfetto/perfetto_numbers.hpp"

namespace tracesmith::import {
namespace {

namespace pn = perfetto_numbers;

constexpr size_t kMostClocks = 64;  // clocks per snapshot; real snapshots have up to eight

}  // namespace

bool PerfettoClocks::ofSequence(uint32_t clock) {
  return clock >= pn::clock::kFirstOfSequence && clock <= pn::clock::kLastOfSequence;
}

std::vector<PerfettoClocks::Reading> PerfettoClocks::read(std::string_view snapshot,
                                                          uint32_t* primary) {
  std::vector<Reading> readings;
  proto::forEachField(snapshot, [&](const proto::Field& f) {
    if (f.number == pn::clock::kPrimary && primary != nullptr) {
      *primary = static_cast<uint32_t>(f.value);
    }
    if (f.number != pn::clock::kClocks || readings.size() >= kMostClocks) return;
    Reading r;
    proto::forEachField(f.bytes, [&](const proto::Field& g) {
      if (g.number == pn::clock::kId) r.clock = static_cast<uint32_t>(g.value);
      if (g.number == pn::clock::kTimestamp) r.raw = g.value;
      if (g.number == pn::clock::kIncremental) r.incremental = g.value != 0;
      if (g.number == pn::clock::kMultiplier && g.value != 0) r.multiplier = g.value;
    });
    r.ns = static_cast<int64_t>(r.raw * r.multiplier);
    readings.push_back(r);
  });
  return readings;
}

void PerfettoClocks::learn(std::string_view snapshot) {
  uint32_t primary = 0;
  std::vector<Reading> readings = read(snapshot, &primary);
  std::erase_if(readings, [](const Reading& r) { return ofSequence(r.clock); });
  if (primary != 0 && !any_primary_ && !ofSequence(primary)) {
    primary_ = primary;
    any_primary_ = true;
  }
  for (const Reading& r : readings) {
    if (r.multiplier != 1) multipliers_[r.clock] = r.multiplier;
  }
  if (readings.size() > 1) snapshots_.push_back(std::move(readings));
}

void PerfettoClocks::follow(uint64_t sequence, std::string_view snapshot) {
  const std::vector<Reading> readings = read(snapshot, nullptr);
  const Reading* other = nullptr;
  for (const Reading& r : readings) {
    if (ofSequence(r.clock)) continue;
    if (other == nullptr || r.clock == primary_) other = &r;
  }
  for (const Reading& r : readings) {
    if (!ofSequence(r.clock)) continue;
    own_[{sequence, r.clock}] = {.last = r.raw,
                                 .raw = r.raw,
                                 .incremental = r.incremental,
                                 .multiplier = r.multiplier,
                                 .other = other != nullptr ? other->clock : 0,
                                 .other_ns = other != nullptr ? other->ns : 0};
  }
}

/// Converts a time of the clock `from` to trace time.
std::optional<int64_t> PerfettoClocks::between(uint32_t from, int64_t ns) {
  if (from == primary_) return ns;
  auto known = ways_.find(from);
  if (known == ways_.end()) {
    // Breadth-first search; clocks in the same snapshot are neighbours.
    std::map<uint32_t, std::set<uint32_t>> beside;
    for (const auto& snapshot : snapshots_) {
      for (const Reading& a : snapshot) {
        for (const Reading& b : snapshot) {
          if (a.clock != b.clock) beside[a.clock].insert(b.clock);
        }
      }
    }
    std::map<uint32_t, uint32_t> came_from = {{from, from}};
    std::deque<uint32_t> open = {from};
    while (!open.empty() && came_from.count(primary_) == 0) {
      const uint32_t clock = open.front();
      open.pop_front();
      for (const uint32_t next : beside[clock]) {
        if (came_from.emplace(next, clock).second) open.push_back(next);
      }
    }
    std::vector<Pairs> hops;
    if (came_from.count(primary_) > 0) {
      for (uint32_t to = primary_; to != from; to = came_from[to]) {
        Pairs pairs;
        for (const auto& snapshot : snapshots_) {
          const Reading* a = nullptr;
          const Reading* b = nullptr;
          for (const Reading& r : snapshot) {
            if (r.clock == came_from[to]) a = &r;
            if (r.clock == to) b = &r;
          }
          if (a != nullptr && b != nullptr) pairs.emplace_back(a->ns, b->ns);
        }
        std::sort(pairs.begin(), pairs.end());
        hops.insert(hops.begin(), std::move(pairs));
      }
    }
    known = ways_.emplace(from, std::move(hops)).first;
  }
  if (known->second.empty()) return std::nullopt;
  for (const Pairs& pairs : known->second) {
    auto after = std::upper_bound(pairs.begin(), pairs.end(), std::pair(ns, INT64_MAX));
    if (after != pairs.begin()) --after;
    ns = wrappingSum(after->second, wrappingDifference(ns, after->first));
  }
  return ns;
}

std::optional<int64_t> PerfettoClocks::toTrace(uint64_t sequence, uint32_t clock, uint64_t time) {
  if (!ofSequence(clock)) {
    uint64_t multiplier = 1;
    if (!multipliers_.empty()) {
      const auto it = multipliers_.find(clock);
      if (it != multipliers_.end()) multiplier = it->second;
    }
    return between(clock, static_cast<int64_t>(time * multiplier));
  }
  const auto it = own_.find({sequence, clock});
  if (it == own_.end() || it->second.other == 0) return std::nullopt;
  OwnClock& own = it->second;
  own.last = own.incremental ? own.last + time : time;
  const auto since = static_cast<int64_t>((own.last - own.raw) * own.multiplier);
  return between(own.other, wrappingSum(own.other_ns, since));
}

std::optional<std::pair<int64_t, int64_t>> PerfettoClocks::unixTime() const {
  for (const auto& snapshot : snapshots_) {
    const Reading* here = nullptr;
    const Reading* wall = nullptr;
    for (const Reading& r : snapshot) {
      if (r.clock == primary_) here = &r;
      if (r.clock == pn::clock::kRealtime) wall = &r;
    }
    if (here != nullptr && wall != nullptr && wall->ns > 0) return std::pair(here->ns, wall->ns);
  }
  return std::nullopt;
}

}  // namespace tracesmith::import
