// SPDX-License-Identifier: Apache-2.0
// A name is reported as slower or faster if its p survives the procedure of Benjamini and Hochberg.
// The intervals are those of Benjamini and Yekutieli (2005): if R of m names survive, each interval
// is at level R q / m, the threshold for p. So an interval excludes "no change" exactly when its p
// survives, and status, interval and p cannot contradict each other.
#include "tracesmith/analysis/diff/trace_diff.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace tracesmith {
namespace {

using Key = std::pair<TableId, std::string>;

/// Data of one name on one side.
struct Side {
  std::vector<double> values;
  uint64_t runs = 0;
  uint64_t count = 0;
  double total = 0;
};
struct Pair {
  Side a, b;
};

void gather(std::span<const DiffRun> runs, Side Pair::*side, std::map<Key, Pair>& out) {
  for (const DiffRun& run : runs) {
    for (const auto& [key, sample] : run.names) {
      if (sample.count == 0) continue;
      Side& s = out[key].*side;
      ++s.runs;
      s.count += sample.count;
      s.total += sample.total;
      s.values.push_back(sample.total / static_cast<double>(sample.count));
    }
  }
}

/// Number of values in `ps`, sorted, that survive.
size_t survivors(const std::vector<double>& ps, double false_discoveries) {
  size_t count = 0;
  for (size_t i = 0; i < ps.size(); ++i) {
    const double allowed =
        false_discoveries * static_cast<double>(i + 1) / static_cast<double>(ps.size());
    if (ps[i] <= allowed) count = i + 1;
  }
  return count;
}

/// For each p in `ps`, sorted: the smallest false_discoveries at which it survives.
std::vector<double> adjusted(const std::vector<double>& ps) {
  std::vector<double> out(ps.size());
  double least = 1;
  for (size_t i = ps.size(); i-- > 0;) {
    least = std::min(least, ps[i] * static_cast<double>(ps.size()) / static_cast<double>(i + 1));
    out[i] = least;
  }
  return out;
}

double medianOf(const std::vector<double>& sorted) {
  if (sorted.empty()) return 0;
  return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}

/// `equal`: both sides have equal values.
DiffStatus statusOf(const NameDiff& d, bool equal, double level, const DiffOptions& options) {
  if (d.runs_a == 0) return DiffStatus::kAppeared;
  if (d.runs_b == 0) return DiffStatus::kVanished;
  if (equal) return DiffStatus::kSame;
  const double mean_change =
      d.mean_a_ns > 0 ? d.mean_b_ns / d.mean_a_ns - 1 : (d.mean_b_ns > 0 ? 1.0 : 0.0);
  const bool mean_changed = std::abs(mean_change) > options.same;
  if (!d.shift.bounded) return DiffStatus::kUnclear;  // too few values
  const double scale = d.median_a_ns > 0 ? d.median_a_ns : d.mean_a_ns;
  const double furthest = std::max(std::abs(d.shift.low), std::abs(d.shift.high));
  const bool differs = d.durations.p <= level;
  if (differs && furthest > options.least * scale) {
    return d.durations.effect > 0 ? DiffStatus::kSlower : DiffStatus::kFaster;
  }
  // A few long operations change the mean but not the typical duration; this does not count as "the
  // same".
  return furthest <= options.same * scale && !mean_changed ? DiffStatus::kSame
                                                           : DiffStatus::kUnclear;
}

}  // namespace

std::string_view toString(DiffStatus status) {
  constexpr std::array<std::string_view, kDiffStatuses> kNames = {
      "same", "slower", "faster", "appeared", "vanished", "unclear"};
  return kNames[static_cast<size_t>(status)];
}

NameDiffs diffNames(std::span<const DiffRun> a, std::span<const DiffRun> b,
                    const DiffOptions& options) {
  const bool by_run = a.size() > 1 || b.size() > 1;
  std::map<Key, Pair> pairs;
  gather(a, &Pair::a, pairs);
  gather(b, &Pair::b, pairs);
  NameDiffs out;
  std::vector<double> ps;
  for (auto& [key, pair] : pairs) {
    if (!by_run) {
      const auto in_a = a[0].names.find(key);
      const auto in_b = b[0].names.find(key);
      if (in_a != a[0].names.end()) pair.a.values = in_a->second.durations;
      if (in_b != b[0].names.end()) pair.b.values = in_b->second.durations;
    }
    NameDiff d{.name = key.second, .table = key.first};
    const auto perRun = [](double sum, uint64_t runs) {
      return runs == 0 ? 0 : sum / static_cast<double>(runs);
    };
    d.runs_a = pair.a.runs;
    d.runs_b = pair.b.runs;
    d.count_a = perRun(static_cast<double>(pair.a.count), d.runs_a);
    d.count_b = perRun(static_cast<double>(pair.b.count), d.runs_b);
    d.total_a_ns = perRun(pair.a.total, d.runs_a);
    d.total_b_ns = perRun(pair.b.total, d.runs_b);
    d.mean_a_ns = perRun(pair.a.total, pair.a.count);
    d.mean_b_ns = perRun(pair.b.total, pair.b.count);
    d.durations = compareRanks(pair.a.values, pair.b.values);
    d.median_a_ns = medianOf(pair.a.values);
    // A name that is not testable must not weaken the test of the others.
    d.testable = d.durations.least_p <= options.false_discoveries;
    if (d.testable) ps.push_back(d.durations.p);
    out.names.push_back(std::move(d));
  }
  std::sort(ps.begin(), ps.end());
  const size_t surviving = survivors(ps, options.false_discoveries);
  const std::vector<double> of_all = adjusted(ps);
  out.level = options.false_discoveries * static_cast<double>(std::max<size_t>(surviving, 1)) /
              static_cast<double>(std::max<size_t>(ps.size(), 1));
  size_t i = 0;
  for (auto& [key, pair] : pairs) {
    NameDiff& d = out.names[i++];
    d.shift = estimateShift(pair.a.values, pair.b.values, out.level);
    if (d.testable) {
      const auto at = std::lower_bound(ps.begin(), ps.end(), d.durations.p) - ps.begin();
      d.p_adjusted = of_all[static_cast<size_t>(at)];
    }
    // Both are sorted here. Equal values may still differ in number.
    const bool one_value = !pair.a.values.empty() && !pair.b.values.empty() &&
                           pair.a.values.front() == pair.b.values.back() &&
                           pair.a.values.back() == pair.b.values.front();
    d.status = statusOf(d, one_value || pair.a.values == pair.b.values, out.level, options);
    pair = {};
  }
  std::stable_sort(out.names.begin(), out.names.end(), [](const NameDiff& x, const NameDiff& y) {
    return std::abs(x.total_b_ns - x.total_a_ns) > std::abs(y.total_b_ns - y.total_a_ns);
  });
  return out;
}

std::vector<NameDiff> diffNames(const Trace& a, const Trace& b, const DiffOptions& options) {
  const DiffRun run_a = DiffRun::of(a);
  const DiffRun run_b = DiffRun::of(b);
  return diffNames({&run_a, 1}, {&run_b, 1}, options).names;
}

}  // namespace tracesmith
