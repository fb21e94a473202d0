// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/ranks/rank_clocks.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "tracesmith/base/human_units.hpp"
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

/// A damaged trace can name many clocks. Of those that are no rank's, only one that several clocks
/// were compared with leads anywhere.
void removeDeadEnds(Comparisons& comparisons, const std::vector<ClockName>& names) {
  const std::set<ClockName> of_ranks(names.begin(), names.end());
  std::map<ClockName, size_t> measured_by;
  for (const auto& [pair, bounds] : comparisons) ++measured_by[pair.second];
  std::erase_if(comparisons, [&](const auto& entry) {
    const ClockName peer = entry.first.second;
    return !of_ranks.contains(peer) && measured_by[peer] < 2;
  });
}

/// The comparisons that lead from each clock towards the one where a search began.
class ClockPaths {
 public:
  struct Step {
    ClockName to;  // the nearer clock
    const std::vector<clocks::OffsetBound>* bounds = nullptr;
    bool is_forward = false;  // the farther clock has measured the nearer one
  };

  /// Finds the way with the narrowest comparisons to `start`: Dijkstra's algorithm.
  ClockPaths(const Comparisons& comparisons, ClockName start) {
    struct Edge {
      ClockName farther;
      Step step;
      int64_t width_ns = 0;
    };
    std::map<ClockName, std::vector<Edge>> edges;  // by the nearer clock
    for (const auto& [pair, bounds] : comparisons) {
      const auto& [measurer, peer] = pair;
      const int64_t width = widthOf(bounds);
      edges[peer].push_back({measurer, {peer, &bounds, true}, width});
      edges[measurer].push_back({peer, {measurer, &bounds, false}, width});
    }
    std::map<ClockName, int64_t> widths{{start, 0}};
    std::set<std::pair<int64_t, ClockName>> open{{0, start}};
    while (!open.empty()) {
      const auto [width, nearer] = open.extract(open.begin()).value();
      for (const Edge& edge : edges[nearer]) {
        const int64_t through = std::min(width, kMostTime) + edge.width_ns;
        const auto [known, is_new] = widths.try_emplace(edge.farther, through);
        if (!is_new) {
          if (through >= known->second) continue;
          open.erase({known->second, edge.farther});
          known->second = through;
        }
        open.insert({through, edge.farther});
        steps_[edge.farther] = edge.step;
      }
    }
    start_ = start;
  }

  /// From a clock to the start, the farthest step first; nullopt if none leads there.
  std::optional<std::vector<Step>> from(ClockName clock) const {
    std::vector<Step> way;
    while (clock != start_) {
      const auto step = steps_.find(clock);
      if (step == steps_.end()) return std::nullopt;
      way.push_back(step->second);
      clock = step->second.to;
    }
    return way;
  }

 private:
  ClockName start_;
  std::map<ClockName, Step> steps_;
};

/// Reads evenly spaced ones of many.
constexpr size_t kMostMoments = 64;
/// A damaged trace can have many loops.
constexpr size_t kMostLoops = 256, kMostNamed = 4;

/// "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
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

/// The estimates of comparisons, each made once.
class RankClocks::Builder {
 public:
  using Way = std::vector<ClockPaths::Step>;

  explicit Builder(std::vector<clocks::ClockEstimate>& estimates) : estimates_(estimates) {}

  size_t estimateOf(const ClockPaths::Step& step) {
    const auto [at, is_new] = known_.try_emplace({step.bounds, step.is_forward}, estimates_.size());
    if (is_new) {
      estimates_.push_back(step.is_forward ? *clocks::ClockEstimate::of(*step.bounds)
                                           : *clocks::ClockEstimate::seenFromOther(*step.bounds));
    }
    return at->second;
  }

  /// The loops that a comparison closes which no way has, if their offsets do not add up to 0.
  std::vector<Loop> contradictionsIn(const Comparisons& comparisons, const ClockPaths& paths) {
    std::vector<Loop> loops;
    size_t checked = 0;
    for (const auto& [pair, bounds] : comparisons) {
      if (checked == kMostLoops) break;
      std::optional<Way> from_measurer = paths.from(pair.first);
      std::optional<Way> from_peer = paths.from(pair.second);
      if (!from_measurer || !from_peer) continue;
      while (!from_measurer->empty() && !from_peer->empty() &&
             isSame(from_measurer->back(), from_peer->back())) {
        from_measurer->pop_back();
        from_peer->pop_back();
      }
      const bool is_on_way = (from_measurer->size() == 1 && from_peer->empty() &&
                              from_measurer->front().bounds == &bounds) ||
                             (from_peer->size() == 1 && from_measurer->empty() &&
                              from_peer->front().bounds == &bounds);
      if (is_on_way) continue;
      ++checked;
      Loop loop = furthestFromZero(bounds, *from_measurer, *from_peer);
      if (loop.beyond() <= 0) continue;
      loop.clocks.emplace_back(pair.first);
      for (const ClockPaths::Step& step : *from_measurer) loop.clocks.emplace_back(step.to);
      // The last one is where both ways meet; the peer's begins with the peer.
      Way back(from_peer->rbegin(), from_peer->rend());
      for (size_t i = 1; i < back.size(); ++i) loop.clocks.emplace_back(back[i].to);
      if (!from_peer->empty()) loop.clocks.emplace_back(pair.second);
      loops.push_back(std::move(loop));
    }
    std::stable_sort(loops.begin(), loops.end(),
                     [](const Loop& a, const Loop& b) { return a.beyond() > b.beyond(); });
    return loops;
  }

 private:
  static bool isSame(const ClockPaths::Step& a, const ClockPaths::Step& b) {
    return a.bounds == b.bounds && a.is_forward == b.is_forward;
  }

  clocks::TimeBound through(const Way& way, clocks::TimeBound time) {
    for (const ClockPaths::Step& step : way) time = estimates_[estimateOf(step)].toOther(time);
    for (int64_t* each : {&time.low, &time.value, &time.high}) {
      *each = std::clamp(*each, -kMostTime, kMostTime);  // so that differences fit
    }
    return time;
  }

  /// One moment on two ways to one clock: as the measurer has it, and by way of its peer.
  Loop furthestFromZero(const std::vector<clocks::OffsetBound>& bounds, const Way& from_measurer,
                        const Way& from_peer) {
    Loop furthest;
    const size_t stride = (bounds.size() + kMostMoments - 1) / kMostMoments;
    for (size_t i = 0; i < bounds.size(); i += stride) {
      const clocks::OffsetBound& bound = bounds[i];
      const clocks::TimeBound here = through(from_measurer, {bound.at, bound.at, bound.at});
      const clocks::TimeBound there = through(
          from_peer, {bound.at + bound.low, bound.at + bound.middle(), bound.at + bound.high});
      Loop loop;
      loop.sum = there.value - here.value;
      loop.error = loop.sum > 0 ? (there.value - there.low) + (here.high - here.value)
                                : (there.high - there.value) + (here.value - here.low);
      if (i == 0 || loop.beyond() > furthest.beyond()) furthest = std::move(loop);
    }
    return furthest;
  }

  std::vector<clocks::ClockEstimate>& estimates_;
  std::map<std::pair<const void*, bool>, size_t> known_;
};

RankClocks::RankClocks(const Trace& merged) {
  const std::vector<ClockName> names = clocksOfRanks(merged);
  clock_of_.assign(names.begin(), names.end());
  for (const ClockName name : names) has_no_name_.push_back(name.empty());
  const std::set<uint32_t> numbers(merged.rank.number.begin(), merged.rank.number.end());
  // Ranks with one number have lost the metadata of all but one.
  if (names.empty() || names.front().empty() || numbers.size() != names.size()) return;
  Comparisons comparisons = comparisonsOf(merged, names);
  removeDeadEnds(comparisons, names);
  const ClockPaths paths(comparisons, names.front());
  Builder builder(estimates_);
  for (const ClockName name : names) {
    const auto way = paths.from(name);
    if (!way) return;
    std::vector<size_t>& hops = hops_.emplace_back();
    for (const ClockPaths::Step& step : *way) hops.push_back(builder.estimateOf(step));
    ++first_unknown_;
  }
  are_compared_ = true;
  contradictions_ = builder.contradictionsIn(comparisons, paths);
}

std::vector<std::string> RankClocks::contradictions(std::span<const std::string> names) const {
  std::vector<std::string> sentences;
  for (const Loop& loop : contradictions_) {
    if (sentences.size() == kMostNamed) {
      sentences.push_back("clocks contradict each other in " +
                          std::to_string(contradictions_.size() - kMostNamed) + " more loops");
      break;
    }
    std::vector<std::string> of;
    for (const std::string& clock : loop.clocks) {
      const auto rank = std::find(clock_of_.begin(), clock_of_.end(), clock);
      of.push_back(rank == clock_of_.end() ? clock
                                           : names[static_cast<size_t>(rank - clock_of_.begin())]);
    }
    sentences.push_back("the clocks of " + listed(of) +
                        " contradict each other: the offsets around the loop of their comparisons "
                        "add up to " +
                        formatOffset(loop.sum) + ", and their bounds allow " +
                        formatDuration(loop.error) +
                        ". Times of these ranks can be further off than stated; was a host "
                        "suspended, or a time server wrong?");
  }
  return sentences;
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
  clocks::TimeBound bound{time, time, time};
  for (const size_t hop : hops_[rank_index]) bound = estimates_[hop].toOther(bound);
  return {bound.value, bound.error()};
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
