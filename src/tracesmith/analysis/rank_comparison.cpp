// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/rank_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tracesmith {
namespace {

constexpr size_t kLeastForNormal = 5;
constexpr size_t kMostSteps = size_t{1} << 19;  // some 0.3 ms

/// `ranks`: of all values, twice, so that those of ties are whole. `sum`: of the sample of `size`.
void exactly(RankComparison& out, const std::vector<size_t>& ranks, size_t size, size_t sum) {
  // ways[k * width + s]: to take k of the values so that their ranks add up to s.
  const size_t width = 2 * ranks.size() * size + 1;
  std::vector<double> ways((size + 1) * width, 0.0);
  ways[0] = 1;
  for (size_t seen = 0; seen < ranks.size(); ++seen) {
    for (size_t k = std::min(size, seen + 1); k > 0; --k) {
      const double* const without = &ways[(k - 1) * width];
      double* const with = &ways[k * width];
      for (size_t s = width; s-- > ranks[seen];) with[s] += without[s - ranks[seen]];
    }
  }
  const size_t mean = size * (ranks.size() + 1);
  const auto distance = [&](size_t s) { return s > mean ? s - mean : mean - s; };
  const double* const of_size = &ways[size * width];
  size_t furthest = 0;
  for (size_t s = 0; s < width; ++s) {
    if (of_size[s] > 0) furthest = std::max(furthest, distance(s));
  }
  double all = 0, as_far = 0, at_the_end = 0;
  for (size_t s = 0; s < width; ++s) {
    all += of_size[s];
    if (distance(s) >= distance(sum)) as_far += of_size[s];
    if (distance(s) >= furthest) at_the_end += of_size[s];
  }
  out.p = as_far / all;
  out.least_p = at_the_end / all;
}

}  // namespace

RankComparison compareRanks(std::vector<double>& a, std::vector<double>& b) {
  RankComparison out;
  if (a.empty() || b.empty()) return out;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const size_t smaller = std::min(a.size(), b.size());
  const size_t count = a.size() + b.size();
  const bool exact = 2 * count * count <= kMostSteps / smaller / smaller;
  // U: pairs in which b is above a; ties count half. And the sizes of groups of ties.
  double u = 0;
  double ties = 0;
  std::vector<size_t> ranks;
  size_t rank_sum = 0;  // of the smaller sample
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() || j < b.size()) {
    const double value = j == b.size() || (i < a.size() && a[i] < b[j]) ? a[i] : b[j];
    const size_t below = i;
    const size_t before = i + j;
    size_t equal_a = 0;
    size_t equal_b = 0;
    while (i < a.size() && a[i] == value) ++i, ++equal_a;
    while (j < b.size() && b[j] == value) ++j, ++equal_b;
    u += static_cast<double>(equal_b) *
         (static_cast<double>(below) + static_cast<double>(equal_a) / 2);
    const size_t equal = equal_a + equal_b;
    const auto group = static_cast<double>(equal);
    ties += group * group * group - group;
    if (exact) {
      const size_t rank = 2 * before + equal + 1;
      ranks.insert(ranks.end(), equal, rank);
      rank_sum += rank * (a.size() == smaller ? equal_a : equal_b);
    }
  }
  const auto n = static_cast<double>(a.size());
  const auto m = static_cast<double>(b.size());
  out.effect = 2 * u / (n * m) - 1;
  if (exact) {
    exactly(out, ranks, smaller, rank_sum);
    return out;
  }
  if (smaller < kLeastForNormal) return out;
  const double all = n + m;
  const double variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
  if (variance <= 0) return out;
  const auto chanceOf = [&](double distance) {
    return std::erfc(std::max(0.0, distance - 0.5) / std::sqrt(variance) / std::sqrt(2.0));
  };
  out.p = chanceOf(std::abs(u - n * m / 2));
  out.least_p = chanceOf(n * m / 2);
  return out;
}

}  // namespace tracesmith
