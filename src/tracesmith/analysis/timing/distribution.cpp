// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/distribution.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace tracesmith {
namespace {

/// `forEach(f)` calls f(value) in ascending order, `at(i)` is the value at a position.
template <class ForEach, class At>
Distribution ofSorted(uint64_t count, ForEach&& forEach, At&& at) {
  Distribution d;
  if (count == 0) return d;
  d.count = count;
  forEach([&](double v) { d.sum += v; });
  const auto n = static_cast<double>(count);
  d.mean = d.sum / n;
  double squares = 0;
  forEach([&](double v) { squares += (v - d.mean) * (v - d.mean); });
  d.deviation = count > 1 ? std::sqrt(squares / (n - 1)) : 0;
  const auto quantile = [&](double p) {
    const double position = p * (n - 1);
    const auto below = static_cast<uint64_t>(position);
    const uint64_t above = std::min(below + 1, count - 1);
    return at(below) + (at(above) - at(below)) * (position - static_cast<double>(below));
  };
  d.min = at(0);
  d.p25 = quantile(0.25);
  d.p50 = quantile(0.5);
  d.p75 = quantile(0.75);
  d.p95 = quantile(0.95);
  d.p99 = quantile(0.99);
  d.max = at(count - 1);
  return d;
}

}  // namespace

Distribution distributionOf(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return ofSorted(
      values.size(), [&](auto&& f) { std::for_each(values.begin(), values.end(), f); },
      [&](uint64_t i) { return values[i]; });
}

Distribution distributionOf(const CompactDurations& durations) {
  Distribution d;
  if (durations.empty()) return d;
  d.count = durations.size();
  const CompactDurations::Moments moments = durations.moments();
  d.sum = static_cast<double>(moments.sum);
  d.mean = static_cast<double>(moments.mean);
  if (d.count > 1) {
    d.deviation =
        static_cast<double>(std::sqrt(moments.squares / static_cast<long double>(d.count - 1)));
  }
  constexpr std::array<double, 7> kQuantiles = {0, 0.25, 0.5, 0.75, 0.95, 0.99, 1};
  std::vector<size_t> positions;
  const auto last = static_cast<double>(d.count - 1);
  for (const double quantile : kQuantiles) {
    const auto below = static_cast<size_t>(quantile * last);
    positions.push_back(below);
    positions.push_back(std::min(below + 1, durations.size() - 1));
  }
  const std::vector<int64_t> values = durations.valuesAt(positions);
  const std::array<double*, 7> out = {&d.min, &d.p25, &d.p50, &d.p75, &d.p95, &d.p99, &d.max};
  for (size_t i = 0; i < out.size(); ++i) {
    const auto below = static_cast<double>(values[2 * i]);
    const auto above = static_cast<double>(values[2 * i + 1]);
    *out[i] =
        below + (above - below) * (kQuantiles[i] * last - static_cast<double>(positions[2 * i]));
  }
  return d;
}

Distribution distributionOfCounts(const std::vector<uint64_t>& counts) {
  uint64_t all = 0;
  for (const uint64_t count : counts) all += count;
  return ofSorted(
      all,
      [&](auto&& f) {
        // One by one, so that sums are rounded as those of single values.
        for (size_t value = 0; value < counts.size(); ++value) {
          for (uint64_t i = 0; i < counts[value]; ++i) f(static_cast<double>(value));
        }
      },
      [&](uint64_t i) {
        size_t value = 0;
        for (uint64_t before = counts[0]; before <= i; before += counts[++value]) {
        }
        return static_cast<double>(value);
      });
}

}  // namespace tracesmith
