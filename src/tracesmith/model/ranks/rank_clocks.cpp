// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/ranks/rank_clocks.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

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

RankClocks::RankClocks(const Trace& merged) {
  const std::vector<ClockName> names = clocksOfRanks(merged);
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
  }
  are_compared_ = true;
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

}  // namespace tracesmith
