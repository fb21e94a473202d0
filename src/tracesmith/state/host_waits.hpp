// SPDX-License-Identifier: Apache-2.0
// Which device work the host waited for, and which was launched only after it had waited.
#pragma once

#include <functional>
#include <vector>

#include "tracesmith/model/trace.hpp"
#include "tracesmith/state/operation_graph.hpp"

namespace tracesmith {

/// Calls `depends(from, to, why)` with numbers of `operations`: a wait follows the last launched of
/// each stream that it waited for, and each stream's next launch follows the wait of its thread.
/// Linear but for sorting.
void forEachHostWait(
    const Trace& trace, const std::vector<Operation>& operations,
    const std::function<void(uint32_t from, uint32_t to, Dependency::Why why)>& depends);

}  // namespace tracesmith
