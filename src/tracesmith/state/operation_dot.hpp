// SPDX-License-Identifier: Apache-2.0
// Draws the dependencies of a trace as a graph for Graphviz (dot -Tsvg).
#pragma once

#include <string>

#include "tracesmith/state/operation_graph.hpp"

namespace tracesmith {

/// Streams are boxes from top to bottom. Edges are labelled with their kind unless it is stream
/// order; inferred edges are dashed.
std::string dependencyDot(const Trace& trace, const OperationGraph& graph,
                          const DotOptions& options = {});

}  // namespace tracesmith
