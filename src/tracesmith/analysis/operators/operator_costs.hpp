// SPDX-License-Identifier: Apache-2.0
// The costs of each operator, over all paths in which it was called.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/analysis/operators/operator_tree.hpp"

namespace tracesmith {

/// Times in ns. Totals are with nested ranges; a call within another one of the same operator adds
/// nothing to them.
struct OperatorCost {
  uint64_t calls = 0;
  int64_t host_self_ns = 0, host_total_ns = 0;
  int64_t device_self_ns = 0, device_total_ns = 0;
  int64_t backward_total_ns = 0;  ///< device work of its backward operators
  uint64_t launches = 0;          ///< those of device_self_ns
  uint64_t bytes = 0;
};

/// By index in OperatorTree::names; [0] is the work outside of ranges.
std::vector<OperatorCost> operatorCosts(const OperatorTree& tree);

/// The cost of a single path.
OperatorCost costOf(const OperatorNode& node);

}  // namespace tracesmith
