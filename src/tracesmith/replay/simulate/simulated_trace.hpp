// SPDX-License-Identifier: Apache-2.0
// The device work of a trace that has no recording, timed on a virtual clock: by the emulator, as
// `whatif` does without a change. Nothing is executed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/emulate/emulator_graph.hpp"
#include "tracesmith/model/trace.hpp"
#include "tracesmith/replay/run/replay_run.hpp"

namespace tracesmith {

struct TraceSimulation {
  EmulatorGraph graph;            ///< the operations, each once, and what they wait for
  std::vector<int64_t> begin_ns;  ///< by operation, since the virtual clock began
  std::vector<int64_t> end_ns;
  int64_t virtual_ns = 0;
  int64_t recorded_ns = 0;  ///< from the trace's first call or operation to the last end
  /// Operations that no call of the trace launched and that were not queued before it began: what
  /// they waited for is not known, they begin when they began.
  uint64_t orphans() const { return graph.facts.orphans_unknown; }
};

/// kRecorded: host threads, launches, streams and waits as they were. kSerial: one operation after
/// the other, in the order in which they began; the host takes no time. Other orders fail with
/// kInvalidArgument; a trace without device work with kUnsupported.
Result<TraceSimulation> simulateTrace(const Trace& trace, ReplayOrder order);

}  // namespace tracesmith
