// SPDX-License-Identifier: Apache-2.0
// The same work in another number of streams.
#pragma once

#include "tracesmith/base/result.hpp"
#include "tracesmith/emulate/emulator_graph.hpp"

namespace tracesmith {

/// Each device of each process gets `count` streams. Fewer than it has: whole streams are put
/// together, by launch. More: the work of each is dealt out in turn, as if nothing in a stream
/// depended on what lies before it but what events, memory and the host wait for.
/// How many operations are not in the first stream that theirs became. Fails with kUnsupported
/// where all that waits for streams would wait for too many.
Result<uint64_t> changeStreams(const Trace& trace, EmulatorGraph& graph, uint32_t count);

}  // namespace tracesmith
