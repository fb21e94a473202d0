// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/stragglers/change_points.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tracesmith {
namespace {

/// Twice the rank of each value among all, so that the ranks of equal values are whole numbers.
std::vector<int64_t> doubledRanks(const std::vector<double>& values, size_t begin, size_t end) {
  std::vector<size_t> order(end - begin);
  std::iota(order.begin(), order.end(), begin);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<int64_t> ranks(order.size());
  for (size_t i = 0, next = 0; i < order.size(); i = next) {
    while (next < order.size() && values[order[next]] == values[order[i]]) ++next;
    for (size_t k = i; k < next; ++k) {
      ranks[order[k] - begin] = static_cast<int64_t>(i + next + 1);
    }
  }
  return ranks;
}

void divide(const std::vector<double>& values, size_t begin, size_t end, double p, size_t shortest,
            std::vector<size_t>& points) {
  const size_t n = end - begin;
  if (n < 2 * shortest) return;
  const std::vector<int64_t> ranks = doubledRanks(values, begin, end);
  int64_t sum = 0, most = 0;
  size_t at = 0;
  for (size_t t = 1; t + shortest <= n; ++t) {
    sum += ranks[t - 1] - static_cast<int64_t>(n + 1);
    if (t < shortest || std::abs(sum) <= most) continue;
    most = std::abs(sum);
    at = begin + t;
  }
  const auto k = static_cast<double>(most), m = static_cast<double>(n);
  if (at == 0 || 2 * std::exp(-6 * k * k / (m * m * m + m * m)) > p) return;
  divide(values, begin, at, p, shortest, points);
  points.push_back(at);
  divide(values, at, end, p, shortest, points);
}

}  // namespace

std::vector<size_t> findChangePoints(const std::vector<double>& values, double p, size_t shortest) {
  std::vector<size_t> points;
  divide(values, 0, values.size(), p, std::max<size_t>(1, shortest), points);
  return points;
}

}  // namespace tracesmith
