// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/simulate/simulated_trace.hpp"

#include "tracesmith/emulate/emulator.hpp"

namespace tracesmith {

Result<TraceSimulation> simulateTrace(const Trace& trace, ReplayOrder order) {
  if (order != ReplayOrder::kRecorded && order != ReplayOrder::kSerial) {
    return fail(ErrorCode::kInvalidArgument,
                "a trace without a recording is simulated in the orders recorded and serial");
  }
  TraceSimulation out;
  // Rejecting unmatched work would exclude traces that have only device work.
  TS_TRY(out.graph, emulatorGraph(trace, {.allow_unmatched = true}));
  const size_t n = out.graph.ops.size();
  out.begin_ns.resize(n);
  out.end_ns.resize(n);
  out.recorded_ns = lengthOf(out.graph.begin_ns, out.graph.end_ns);
  if (order == ReplayOrder::kSerial) {
    for (size_t i = 0; i < n; ++i) {
      const EmulatedOp& op = out.graph.ops[i];  // they are sorted by start
      out.begin_ns[i] = out.virtual_ns;
      out.virtual_ns = endOf(out.virtual_ns, lengthOf(op.begin_ns, op.end_ns));
      out.end_ns[i] = out.virtual_ns;
    }
    return out;
  }
  TS_TRY(const Emulation emulation, emulate(out.graph));
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t node = out.graph.nodeOf(i);
    out.begin_ns[i] = lengthOf(emulation.first_ns, emulation.begin_ns[node]);
    out.end_ns[i] = lengthOf(emulation.first_ns, emulation.end_ns[node]);
  }
  out.virtual_ns = emulation.makespan();
  return out;
}

}  // namespace tracesmith
