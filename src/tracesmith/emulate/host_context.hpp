// SPDX-License-Identifier: Apache-2.0
// Keys for comparable host times: those between the same two calls that launch the same work and
// waited for the same kinds of things.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/emulate/emulator_graph.hpp"
#include "tracesmith/emulate/typical_costs.hpp"

namespace tracesmith {

class HostContext {
 public:
  HostContext(const Trace& trace, const EmulatorGraph& graph)
      : steps_(graph.steps), calls_(trace.host_call), held_by_(graph.steps.size(), 0) {
    work_.assign(calls_.size(), 0);
    for (const EmulatedOp& op : graph.ops) {
      if (op.launch == EmulatedOp::kNone || work_[op.launch] != 0) continue;
      work_[op.launch] = static_cast<uint64_t>(op.name) << 8 | static_cast<uint64_t>(op.table);
    }
    for (const EmulatedEdge& edge : graph.edges) {
      if (!graph.isOp(edge.to)) held_by_[edge.to] |= 1U << static_cast<unsigned>(edge.kind);
    }
  }

  /// Key of the thread's own time before a step that is not its first.
  uint64_t own(uint32_t step) const {
    return TypicalCosts::key(TypicalCosts::key(call(step - 1), call(step), held_by_[step]),
                             work(step - 1), work(step));
  }
  /// As own(), by the names of the calls only.
  uint64_t ownByCalls(uint32_t step) const {
    return TypicalCosts::key(call(step - 1), call(step), held_by_[step]);
  }
  /// Key of the time from what a step waited for to the step.
  uint64_t wait(const EmulatedEdge& edge) const {
    return TypicalCosts::key(1000 + static_cast<uint64_t>(edge.kind), call(edge.to), work(edge.to));
  }
  uint64_t waitByCall(const EmulatedEdge& edge) const {
    return TypicalCosts::key(2000 + static_cast<uint64_t>(edge.kind), call(edge.to));
  }

 private:
  uint64_t call(uint32_t step) const {
    return static_cast<uint64_t>(calls_.name[steps_[step].call]) << 1 | (steps_[step].end ? 1 : 0);
  }
  uint64_t work(uint32_t step) const { return work_[steps_[step].call]; }

  const std::vector<HostStep>& steps_;
  const HostCallTable& calls_;
  std::vector<uint32_t> held_by_;  // kinds of edges into each step, as bits
  std::vector<uint64_t> work_;     // work that calls launch
};

}  // namespace tracesmith
