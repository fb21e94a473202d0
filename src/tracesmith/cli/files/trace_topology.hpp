// SPDX-License-Identifier: Apache-2.0
// The topologies that a trace has: one, or one for each kind of host of a merged trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/topology/topology.hpp"

namespace tracesmith::cli {

struct HostTopology {
  std::vector<uint32_t> ranks;  ///< that ran on it; empty: the trace was not merged
  std::string hostname;         ///< empty: unknown
  topology::Topology topology;
};

/// Ranks with the same host name and topology share one. Fails if there is none.
Result<std::vector<HostTopology>> topologiesOf(const TraceFile& file);

}  // namespace tracesmith::cli
