// SPDX-License-Identifier: Apache-2.0
// A topology as rows of a trace: the tables topology_node and topology_link, and metadata for its
// source and its problems.
#pragma once

#include "tracesmith/model/trace.hpp"
#include "tracesmith/topology/topology.hpp"

namespace tracesmith::topology {

/// Appends the rows of a topology; ids continue those that `rows` has. Stated paths and graphs,
/// which no running system has, are left out.
void appendRows(const Topology& topology, Trace& rows);

/// The topology that a trace has. kUnsupported, with what the recorder said, if it has none. The
/// trace is not merged, or the part of one rank. If it is damaged, so that parents or ends of links
/// do not exist, that is a problem.
Result<Topology> topologyOf(const Trace& trace);

}  // namespace tracesmith::topology
