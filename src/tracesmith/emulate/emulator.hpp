// SPDX-License-Identifier: Apache-2.0
// Emulates a program's timing: a discrete-event model of host threads, streams, copy engines, and
// devices shared by kernels. Takes O(n log n) for n calls and operations.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/emulate/emulator_graph.hpp"

namespace tracesmith {

/// Times by node. For steps, start and end are equal.
struct Emulation {
  static constexpr uint32_t kNone = ~uint32_t{0};
  std::vector<int64_t> ready_ns;  ///< everything it had to wait for had ended
  std::vector<int64_t> begin_ns;
  std::vector<int64_t> end_ns;
  /// The edge that it waited for last; kNone: the thread's previous step, or nothing.
  std::vector<uint32_t> held_by;
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  int64_t makespan() const { return last_ns - first_ns; }
};

/// Fails with kDamaged if dependencies form a cycle or times overflow.
Result<Emulation> emulate(const EmulatorGraph& graph);

}  // namespace tracesmith
