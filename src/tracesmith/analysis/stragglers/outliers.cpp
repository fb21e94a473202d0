// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/stragglers/outliers.hpp"

#include <algorithm>
#include <cmath>

#include "tracesmith/analysis/stragglers/rank_work.hpp"

namespace tracesmith {
namespace {

/// Regularised incomplete beta function by its continued fraction (Abramowitz and Stegun 26.5.8),
/// evaluated as Lentz does; for x < (a + 1) / (a + b + 2).
double betaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300, kExact = 1e-14;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < kTiny ? kTiny : d);
  double result = d;
  for (int m = 1; m < 300; ++m) {
    const auto step = [&](double numerator) {
      d = 1 + numerator * d;
      c = 1 + numerator / c;
      d = 1 / (std::abs(d) < kTiny ? kTiny : d);
      c = std::abs(c) < kTiny ? kTiny : c;
      result *= d * c;
    };
    step(m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)));
    step(-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)));
    if (std::abs(d * c - 1) < kExact) break;
  }
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  return front * result / a;
}

struct Centre {
  double middle = 0, deviation = 0;
};

/// By medians, which one outlier among the others does not move; two values have no outlier.
Centre centreOf(const std::vector<double>& values) {
  if (values.size() == 2) {
    return {(values[0] + values[1]) / 2, std::abs(values[0] - values[1]) / std::sqrt(2.0)};
  }
  const double middle = lowerMedian(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double x : values) distances.push_back(std::abs(x - middle));
  return {middle, 1.4826 * lowerMedian(distances)};
}

}  // namespace

double studentTail(double t, double freedom) {
  if (t < 0) return 1 - studentTail(-t, freedom);
  const double x = freedom / (freedom + t * t);
  const double a = freedom / 2, b = 0.5;
  const bool converges = x < (a + 1) / (a + b + 2);
  const double beta = converges ? betaFraction(a, b, x) : 1 - betaFraction(b, a, 1 - x);
  return x >= 1 ? 0.5 : 0.5 * beta;
}

double outlierP(const std::vector<double>& values, size_t i, const ExpectedSpread& expected) {
  std::vector<double> others;
  for (size_t k = 0; k < values.size(); ++k) {
    if (k != i) others.push_back(values[k]);
  }
  if (others.empty()) return 1;
  const auto [middle, deviation] = centreOf(others);
  const auto n = static_cast<double>(others.size());
  const double freedom = expected.freedom + n - 1;
  const double variance = (expected.freedom * expected.deviation * expected.deviation +
                           (n - 1) * deviation * deviation) /
                          freedom;
  if (variance <= 0) return values[i] > middle ? 0 : 1;
  return studentTail((values[i] - middle) / std::sqrt(variance * (1 + 1 / n)), freedom);
}

}  // namespace tracesmith
