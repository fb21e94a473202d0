// SPDX-License-Identifier: Apache-2.0
// Tests whether two samples differ by more than chance, and estimates by how much.
#pragma once

#include <vector>

namespace tracesmith {

/// Compares two samples by their ranks (Mann and Whitney 1947), without assumptions about the
/// distribution.
struct RankComparison {
  /// Cliff's delta: the share of pairs in which the value of b is above that of a, minus the share
  /// in which it is below. From -1 (all below) to 1 (all above).
  double effect = 0;
  /// Two-sided probability of an effect this large between samples of the same source; never 0,
  /// however small. Small samples: exact, over all ways to divide the values. Larger ones: normal
  /// approximation with corrections for ties and continuity. 1 if a sample is empty, or has fewer
  /// than five values while the other is too large for the exact test.
  double p = 1;
  /// The smallest p possible with these values: all of one sample below the other. If it is large,
  /// there are too few values to decide.
  double least_p = 1;
};
/// Reorders both arguments.
RankComparison compareRanks(std::vector<double>& a, std::vector<double>& b);

/// How far the values of b lie above those of a: the median of all differences (Hodges and Lehmann
/// 1963), and the interval of shifts that compareRanks() does not reject at `level`.
///
/// Always agrees with compareRanks(): the interval excludes 0 exactly when p <= level, and `shift`
/// has the sign of `effect`. To achieve this, tied differences are spread evenly up to the next
/// difference, as in the median of grouped data. Otherwise a clock with microsecond resolution
/// would give a shift of 0 between samples that differ.
struct ShiftEstimate {
  double shift = 0;
  /// false: no shift is distinguishable from chance; `low`, `high` are undefined
  bool bounded = false;
  double low = 0;
  double high = 0;
};
/// Reorders both arguments. Takes O((n + m) * 64).
ShiftEstimate estimateShift(std::vector<double>& a, std::vector<double>& b, double level);

}  // namespace tracesmith
