// SPDX-License-Identifier: Apache-2.0
// Distributes the same work to another number of streams.
#pragma once

#include "tracesmith/base/result.hpp"
#include "tracesmith/emulate/emulator_graph.hpp"

namespace tracesmith {

/// Gives each device of each process `count` streams. Fewer than before: whole streams are merged,
/// in launch order. More: the work of each stream is distributed in turn, assuming that nothing in
/// a stream depends on earlier work except through events, memory and host waits. Returns the
/// number of operations that are not in the first stream made from theirs. Fails with kUnsupported
/// if stream waits would become too many.
Result<uint64_t> changeStreams(const Trace& trace, EmulatorGraph& graph, uint32_t count);

}  // namespace tracesmith
