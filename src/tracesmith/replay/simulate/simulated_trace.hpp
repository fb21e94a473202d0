// SPDX-License-Identifier: Apache-2.0
// Times the device work of a trace without a recording on a virtual clock, with the emulator: the
// same as `whatif` without a change. Executes nothing.
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
  EmulatorGraph graph;            ///< the operations, each once, and their dependencies
  std::vector<int64_t> begin_ns;  ///< by operation, in ns since the start of the virtual clock
  std::vector<int64_t> end_ns;
  int64_t virtual_ns = 0;
  int64_t recorded_ns = 0;  ///< from the trace's first call or operation to the last end
  /// Operations without a launching call in the trace, which were not queued before the trace
  /// started either. Their dependencies are unknown, so they start at their recorded time.
  uint64_t unmatched() const { return graph.facts.unmatched_unknown; }
};

/// kRecorded: keeps host threads, launches, streams and waits. kSerial: runs one operation after
/// the other, in order of recorded start; the host takes no time. Other orders fail with
/// kInvalidArgument; a trace without device work fails with kUnsupported.
Result<TraceSimulation> simulateTrace(const Trace& trace, ReplayOrder order);

}  // namespace tracesmith
