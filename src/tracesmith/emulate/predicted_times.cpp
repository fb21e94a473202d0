// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/emulate/predicted_times.hpp"

#include "tracesmith/emulate/emulator.hpp"

namespace tracesmith {

Result<PredictedTimes> predictTimes(const Trace& trace, const WhatIf& change,
                                    const EmulatorOptions& options) {
  TS_TRY(const EmulatorGraph graph, emulatorGraph(trace, options));
  TS_TRY(const Emulation unchanged, emulate(graph));
  std::vector<WhatIfEffect> effects;
  TS_TRY(const EmulatorGraph other, changed(trace, graph, change, effects));
  TS_TRY(const Emulation after, emulate(other));
  PredictedTimes out{.recorded_ns = graph.end_ns - graph.begin_ns,
                     .unchanged_ns = unchanged.makespan(),
                     .predicted_ns = after.makespan(),
                     .work = {}};
  out.work.reserve(graph.ops.size());
  for (uint32_t i = 0; i < graph.ops.size(); ++i) {
    const EmulatedOp& op = graph.ops[i];
    const EmulatedOp& then = other.ops[i];
    const uint32_t node = other.nodeOf(i);
    out.work.push_back({.table = op.table,
                        .row = op.row,
                        .device = op.device,
                        .stream = op.stream,
                        .predicted_stream = then.stream,
                        .begin_ns = op.begin_ns - graph.begin_ns,
                        .end_ns = op.end_ns - graph.begin_ns,
                        .predicted_begin_ns = after.begin_ns[node] - after.first_ns,
                        .predicted_end_ns = after.end_ns[node] - after.first_ns,
                        .gone = then.gone});
  }
  return out;
}

}  // namespace tracesmith
