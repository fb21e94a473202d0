// SPDX-License-Identifier: Apache-2.0
// Finds copies and fills that had to wait for each other because they use the same bytes and one of
// them writes them.
#pragma once

#include <functional>
#include <vector>

#include "tracesmith/model/trace.hpp"
#include "tracesmith/state/operation_graph.hpp"

namespace tracesmith {

/// Calls `depends(from, to)` with indices into `operations`, which are sorted by start. Reports
/// only the last operation of each other stream, which implies the earlier ones. Several reads of
/// one stream depend on a write once. Addresses are per process. Takes linear time except for
/// sorting and for writes, which visit each stream that had read their bytes.
void forEachMemoryDependency(const Trace& trace, const std::vector<Operation>& operations,
                             const std::function<void(uint32_t from, uint32_t to)>& depends);

}  // namespace tracesmith
