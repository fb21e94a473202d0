// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/distribution.hpp"

#include <algorithm>
#include <cmath>

namespace tracesmith {

Distribution distributionOf(std::vector<double>& values) {
  Distribution d;
  if (values.empty()) return d;
  std::sort(values.begin(), values.end());
  d.count = values.size();
  for (const double v : values) d.sum += v;
  const auto n = static_cast<double>(values.size());
  d.mean = d.sum / n;
  double squares = 0;
  for (const double v : values) squares += (v - d.mean) * (v - d.mean);
  d.deviation = values.size() > 1 ? std::sqrt(squares / (n - 1)) : 0;
  const auto quantile = [&](double p) {
    const double position = p * (n - 1);
    const auto below = static_cast<size_t>(position);
    const size_t above = std::min(below + 1, values.size() - 1);
    return values[below] +
           (values[above] - values[below]) * (position - static_cast<double>(below));
  };
  d.min = values.front();
  d.p25 = quantile(0.25);
  d.p50 = quantile(0.5);
  d.p75 = quantile(0.75);
  d.p95 = quantile(0.95);
  d.p99 = quantile(0.99);
  d.max = values.back();
  return d;
}

}  // namespace tracesmith
