// SPDX-License-Identifier: Apache-2.0
// The dependencies of a trace as a picture for Graphviz (dot -Tsvg).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "tracesmith/state/operation_graph.hpp"

namespace tracesmith {

struct DotOptions {
  /// Operations of one stream with one name are one node, with their number and time; else each is
  /// a node.
  bool collapse = true;
  size_t most_nodes = 40;  ///< the longest; what is left out is said
  int64_t from_ns = std::numeric_limits<int64_t>::min();
  int64_t to_ns = std::numeric_limits<int64_t>::max();  ///< operations that overlap [from, to)
};

/// Streams are boxes from top to bottom, edges are labelled with their kind where it is not the
/// order of a stream; inferred ones are dashed.
std::string dependencyDot(const Trace& trace, const OperationGraph& graph,
                          const DotOptions& options = {});

}  // namespace tracesmith
