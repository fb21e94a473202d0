// SPDX-License-Identifier: Apache-2.0
// Draws the dependencies of a trace as a graph for Graphviz (dot -Tsvg).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "tracesmith/state/operation_graph.hpp"

namespace tracesmith {

struct DotOptions {
  /// true: operations of one stream with the same name become one node, with their count and time.
  /// false: each is a node.
  bool collapse = true;
  size_t most_nodes = 40;  ///< keeps the longest ones; the graph states how many are left out
  int64_t from_ns = std::numeric_limits<int64_t>::min();
  int64_t to_ns = std::numeric_limits<int64_t>::max();  ///< operations that overlap [from, to)
};

/// Streams are boxes from top to bottom. Edges are labelled with their kind unless it is stream
/// order; inferred edges are dashed.
std::string dependencyDot(const Trace& trace, const OperationGraph& graph,
                          const DotOptions& options = {});

}  // namespace tracesmith
