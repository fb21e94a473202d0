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

/// Of a damaged trace, whose offsets would overflow.
constexpr int64_t kMostTime = int64_t{1} << 60;

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
  std::map<ClockName, std::vector<Hop>> known{{names.front(), {}}};
  std::vector<ClockName> reached{names.front()};
  const auto reach = [&](ClockName farther, ClockName nearer, bool forward) {
    if (known.contains(farther)) return;
    const auto& bounds =
        comparisons.at(forward ? std::pair(farther, nearer) : std::pair(nearer, farther));
    auto estimate = clocks::ClockEstimate::of(bounds);
    if (!estimate) return;
    std::vector<Hop> hops{{estimates_.size(), forward}};
    const std::vector<Hop>& rest = known[nearer];
    hops.insert(hops.end(), rest.begin(), rest.end());
    estimates_.push_back(std::move(*estimate));
    known[farther] = std::move(hops);
    reached.push_back(farther);
  };
  for (size_t i = 0; i < reached.size(); ++i) {  // the fewest hops first
    const ClockName nearer = reached[i];
    for (const auto& [clocks, bounds] : comparisons) {
      if (clocks.second == nearer) reach(clocks.first, nearer, true);
      if (clocks.first == nearer) reach(clocks.second, nearer, false);
    }
  }
  for (const ClockName name : names) {
    const auto at = known.find(name);
    if (at == known.end()) return;
    hops_.push_back(at->second);
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
  int64_t worst = 0;
  mapTimes(
      of_rank, [&](const auto&, size_t) { return std::optional(rank_index); },
      [&](size_t rank, int64_t time) {
        const clocks::Bounded at = toFirst(rank, time);
        worst = std::max(worst, at.error);
        return at.value;
      },
      [&](size_t rank, int64_t time) { return toFirst(rank, time).value; });
  of_rank.clock_offset.clear();
  of_rank.begin_ns.reset();
  return worst;
}

}  // namespace tracesmith
