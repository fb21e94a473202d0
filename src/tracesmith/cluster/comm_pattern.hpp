// SPDX-License-Identifier: Apache-2.0
// The shape of a graph of who sends to whom.
#pragma once

#include <vector>

#include "tracesmith/cluster/comm_analysis.hpp"

namespace tracesmith {

/// `sends[a][b]`: rank a sends to rank b. A rank that sends to itself does not count.
CommAnalysis::CommPattern patternOf(const std::vector<std::vector<bool>>& sends);

}  // namespace tracesmith
