// SPDX-License-Identifier: Apache-2.0
// Which copies and fills had to wait for which, as they use the same bytes and one of the two
// writes them.
#pragma once

#include <functional>
#include <vector>

#include "tracesmith/model/trace.hpp"
#include "tracesmith/state/operation_graph.hpp"

namespace tracesmith {

/// Calls `depends(from, to)` with numbers of `operations`, which are by begin: the last of each
/// other stream, which those before it came before. Reads of one stream depend on a write once.
/// Addresses are those of a process. Linear but for sorting, and for what a write finds: each
/// stream that had read its bytes.
void forEachMemoryDependency(const Trace& trace, const std::vector<Operation>& operations,
                             const std::function<void(uint32_t from, uint32_t to)>& depends);

}  // namespace tracesmith
