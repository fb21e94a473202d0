// SPDX-License-Identifier: Apache-2.0
// Are two samples different, or is it chance?
#pragma once

#include <vector>

namespace tracesmith {

/// Two samples compared by their ranks (Mann and Whitney 1947): nothing is assumed of how they are
/// spread.
struct RankComparison {
  /// Cliff's delta: how much more often a value of b is above one of a than below it, from -1 (all
  /// are below) to 1 (all are above).
  double effect = 0;
  /// Chance of an effect as large between samples of one source, two-sided. Small samples: exact,
  /// over all ways to divide the values. Larger ones: by the normal approximation with corrections
  /// for ties and continuity. 1 where a sample is empty, or has fewer than five values beside too
  /// many for the exact one.
  double p = 1;
  /// The smallest p that these values could have had, had they been divided so that all of one
  /// sample were below the other. Where it is large there are too few to tell.
  double least_p = 1;
};
/// Both are reordered.
RankComparison compareRanks(std::vector<double>& a, std::vector<double>& b);

}  // namespace tracesmith
