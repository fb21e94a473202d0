// SPDX-License-Identifier: Apache-2.0
// Are two samples different, or is it chance? And by how much are they?
#pragma once

#include <vector>

namespace tracesmith {

/// Two samples compared by their ranks (Mann and Whitney 1947): nothing is assumed of how they are
/// spread.
struct RankComparison {
  /// Cliff's delta: how much more often a value of b is above one of a than below it, from -1 (all
  /// are below) to 1 (all are above).
  double effect = 0;
  /// Chance of an effect as large between samples of one source, two-sided; never 0, however small.
  /// Small samples: exact, over all ways to divide the values. Larger ones: by the normal
  /// approximation with corrections for ties and continuity. 1 where a sample is empty, or has
  /// fewer than five values beside too many for the exact one.
  double p = 1;
  /// The smallest p that these values could have had, had they been divided so that all of one
  /// sample were below the other. Where it is large there are too few to tell.
  double least_p = 1;
};
/// Both are reordered.
RankComparison compareRanks(std::vector<double>& a, std::vector<double>& b);

/// By how much the values of b are above those of a: the median of all differences (Hodges and
/// Lehmann 1963), and the interval of those shifts that compareRanks() would not call a difference
/// at `level`.
///
/// It always agrees with compareRanks(): the interval leaves out 0 where p <= level and only there,
/// and `shift` has the sign of `effect`. For that, what is tied is taken as spread evenly up to the
/// next difference, as in the median of grouped data: a clock that counts microseconds would
/// otherwise give a shift of 0 between samples that differ.
struct ShiftEstimate {
  double shift = 0;
  bool bounded = false;  ///< false: no shift could be told from chance; `low`, `high` are undefined
  double low = 0;
  double high = 0;
};
/// Both are reordered. O((n + m) * 64).
ShiftEstimate estimateShift(std::vector<double>& a, std::vector<double>& b, double level);

}  // namespace tracesmith
