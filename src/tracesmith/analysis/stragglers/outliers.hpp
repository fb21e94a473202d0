// SPDX-License-Identifier: Apache-2.0
// Whether one of several alike is too large to be one of them.
#pragma once

#include <cstddef>
#include <vector>

namespace tracesmith {

/// What is known of a spread before any value: as if `freedom` + 1 values had shown it.
struct ExpectedSpread {
  double deviation = 0;
  double freedom = 8;
};

/// One-sided probability that value `i` comes from the distribution of the others (Student's t of a
/// new value; the variance is that of the others, by their median absolute deviation (of two
/// others, the usual one), shrunk towards the expected one, which is all that is known with one
/// other). 1 without others.
double outlierP(const std::vector<double>& values, size_t i, const ExpectedSpread& expected);

/// P(T > t) of Student's distribution.
double studentTail(double t, double freedom);

}  // namespace tracesmith
