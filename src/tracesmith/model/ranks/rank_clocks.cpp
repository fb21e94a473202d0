// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/ranks/rank_clocks.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "tracesmith/model/ranks/rank_times.hpp"
#include "tracesmith/model/ranks/ranks.hpp"

namespace tracesmith {
namespace {

/// Offsets beyond are those of a damaged trace, and would overflow. UTC has it in 2043.
constexpr int64_t kMostTime = int64_t{1} << 61;

using ClockName = std::string_view;
/// Bounds of the second clock minus the first, by time of the first.
using Comparisons = std::map<std::pair<ClockName, ClockName>, std::vector<clocks::OffsetBound>>;

std::vector<ClockName> clocksOfRanks(const Trace& trace) {
  std::vector<ClockName> names;
  for (size_t i = 0; i < trace.rank.size(); ++i) {
    names.push_back(trace.metadataValue(rankMetadataPrefix(trace.rank.number[i]) + "clock_id"));
  }
  return names;
}

Comparisons comparisonsOf(const Trace& trace, const std::vector<ClockName>& names) {
  Comparisons comparisons;
  const ClockOffsetTable& rows = trace.clock_offset;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto rank = static_cast<size_t>(rows.rank_id[i]);
    const ClockName peer = trace.text(rows.peer_clock_id[i]);
    if (rank == 0 || rank > names.size() || names[rank - 1].empty() || peer.empty()) continue;
    const clocks::OffsetBound bound{rows.host_ns[i], rows.low_ns[i], rows.high_ns[i]};
    const bool is_sane = bound.low <= bound.high && bound.at > -kMostTime && bound.at < kMostTime &&
                         bound.low > -kMostTime && bound.high < kMostTime;
    if (is_sane) comparisons[{names[rank - 1], peer}].push_back(bound);
  }
  return comparisons;
}

/// How narrow the comparisons of two clocks are: the median.
int64_t widthOf(const std::vector<clocks::OffsetBound>& bounds) {
  std::vector<int64_t> widths;
  for (const clocks::OffsetBound& bound : bounds) widths.push_back(bound.halfWidth());
  const auto middle = widths.begin() + static_cast<ptrdiff_t>(widths.size() / 2);
  std::nth_element(widths.begin(), middle, widths.end());
  return *middle;
}

/// The time before, in the clock that has measured: the offset is one of that clock's times.
clocks::Bounded before(const clocks::ClockEstimate& estimate, int64_t time) {
  clocks::Bounded offset = estimate.offsetAt(time);
  int64_t there = std::clamp(time - offset.value, -kMostTime, kMostTime);
  // Offsets change by less than a tenth of the time, so each round is ten times nearer.
  for (int i = 0; i < 24; ++i) {
    offset = estimate.offsetAt(there);
    const int64_t next = std::clamp(time - offset.value, -kMostTime, kMostTime);
    if (next == there) break;
    there = next;
  }
  return {there, offset.error};
}

}  // namespace

void addClockFacts(Trace& facts, const Trace& of_rank) {
  const RankId rank = idAt<RankId>(facts.rank.size());
  const auto number = static_cast<uint32_t>(facts.rank.size());
  facts.rank.push({.id = rank, .number = number});
  facts.setMetadata(rankMetadataPrefix(number) + "clock_id", of_rank.metadataValue("clock_id"));
  const ClockOffsetTable& offsets = of_rank.clock_offset;
  for (size_t i = 0; i < offsets.size(); ++i) {
    ClockOffsetRow row = offsets.row(i);
    row.peer = facts.strings.intern(of_rank.text(row.peer));
    row.peer_clock_id = facts.strings.intern(of_rank.text(row.peer_clock_id));
    row.rank_id = rank;
    facts.clock_offset.push(row);
  }
}

RankClocks::RankClocks(const Trace& merged) {
  const std::vector<ClockName> names = clocksOfRanks(merged);
  for (const ClockName name : names) has_no_name_.push_back(name.empty());
  const std::set<uint32_t> numbers(merged.rank.number.begin(), merged.rank.number.end());
  // Ranks with one number have lost the metadata of all but one.
  if (names.empty() || names.front().empty() || numbers.size() != names.size()) return;
  const Comparisons comparisons = comparisonsOf(merged, names);
  // The way to each clock that the comparisons make the narrowest; Dijkstra's algorithm.
  struct Way {
    int64_t width_ns = 0;
    std::vector<Hop> hops;  // the farthest first
  };
  std::map<ClockName, Way> known, reached{{names.front(), {}}};
  const auto reach = [&](ClockName farther, const Way& nearer, const Comparisons::value_type& by,
                         bool forward) {
    if (known.contains(farther)) return;
    const int64_t width = std::min(nearer.width_ns, kMostTime) + widthOf(by.second);
    const auto at = reached.find(farther);
    if (at != reached.end() && at->second.width_ns <= width) return;
    auto estimate = clocks::ClockEstimate::of(by.second);
    if (!estimate) return;
    Way way{width, {{estimates_.size(), forward}}};
    way.hops.insert(way.hops.end(), nearer.hops.begin(), nearer.hops.end());
    estimates_.push_back(std::move(*estimate));
    reached[farther] = std::move(way);
  };
  while (!reached.empty()) {
    const auto narrowest = std::min_element(
        reached.begin(), reached.end(),
        [](const auto& a, const auto& b) { return a.second.width_ns < b.second.width_ns; });
    const auto [nearer, way] = *narrowest;
    reached.erase(narrowest);
    known[nearer] = way;
    for (const auto& by : comparisons) {
      if (by.first.second == nearer) reach(by.first.first, way, by, true);
      if (by.first.first == nearer) reach(by.first.second, way, by, false);
    }
  }
  for (const ClockName name : names) {
    const auto at = known.find(name);
    if (at == known.end()) return;
    hops_.push_back(at->second.hops);
    ++first_unknown_;
  }
  are_compared_ = true;
}

std::string RankClocks::whyNot(std::span<const std::string> names) const {
  const std::string& of = names[first_unknown_];
  if (has_no_name_[first_unknown_]) {
    return of +
           " does not say which clock it has: another tool's trace, or one of an older version";
  }
  return "the clock of " + of + " was not compared with that of " + names.front() +
         ", nor with one that was; record with 'profile --sync-with HOST', or leave each rank its "
         "own clock (--clock none)";
}

clocks::Bounded RankClocks::toFirst(size_t rank_index, int64_t time) const {
  clocks::Bounded result{std::clamp(time, -kMostTime, kMostTime), 0};
  for (const Hop& hop : hops_[rank_index]) {
    const clocks::ClockEstimate& estimate = estimates_[hop.estimate];
    const clocks::Bounded next =
        hop.forward ? estimate.toOther(result.value) : before(estimate, result.value);
    result = {std::clamp(next.value, -kMostTime, kMostTime),
              std::min(result.error, kMostTime) + std::min(next.error, kMostTime)};
  }
  return result;
}

int64_t RankClocks::convertToFirst(size_t rank_index, Trace& of_rank) const {
  std::optional<int64_t> of_events;
  int64_t of_others = 0;
  mapTimes(
      of_rank, [&](const auto&, size_t) { return std::optional(rank_index); },
      [&](size_t rank, int64_t time) {
        const clocks::Bounded at = toFirst(rank, time);
        of_events = std::max(of_events.value_or(0), at.error);
        return at.value;
      },
      [&](size_t rank, int64_t time) {
        const clocks::Bounded at = toFirst(rank, time);
        of_others = std::max(of_others, at.error);
        return at.value;
      });
  of_rank.clock_offset.clear();
  of_rank.begin_ns.reset();
  return of_events.value_or(of_others);
}

}  // namespace tracesmith
