// SPDX-License-Identifier: Apache-2.0
// Finds the device work that the host waited for, and the work launched after such a wait.
#pragma once

#include <functional>
#include <vector>

#include "tracesmith/model/trace.hpp"
#include "tracesmith/state/operation_graph.hpp"

namespace tracesmith {

/// Calls `depends(from, to, why)` with indices into `operations`. A wait depends on the operation
/// launched last on each stream that it waited for. Each stream's next launch by the waiting thread
/// depends on the wait. Takes linear time except for sorting.
void forEachHostWait(
    const Trace& trace, const std::vector<Operation>& operations,
    const std::function<void(uint32_t from, uint32_t to, Dependency::Why why)>& depends);

}  // namespace tracesmith
