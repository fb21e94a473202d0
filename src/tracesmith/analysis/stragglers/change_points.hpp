// SPDX-License-Identifier: Apache-2.0
// Where the level of a series changes.
#pragma once

#include <cstddef>
#include <vector>

namespace tracesmith {

/// Indices at which a new level begins, in order. Pettitt's test (1979), which compares ranks and
/// so does not mind single values that are far off; where it finds a change, both sides are tested
/// again. `p`: how likely chance may be for each. No level is shorter than `shortest` values.
std::vector<size_t> findChangePoints(const std::vector<double>& values, double p = 1e-3,
                                     size_t shortest = 3);

}  // namespace tracesmith
