// SPDX-License-Identifier: Apache-2.0
// Times a program again: a discrete-event model of host threads, streams, copy engines, and devices
// that kernels share. O(n log n) for n calls and operations.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/emulate/emulator_graph.hpp"

namespace tracesmith {

/// When what happened, by node: of steps begin and end are one.
struct Emulation {
  static constexpr uint32_t kNone = ~uint32_t{0};
  std::vector<int64_t> ready_ns;  ///< all that it had to wait for was over
  std::vector<int64_t> begin_ns;
  std::vector<int64_t> end_ns;
  /// The edge that it waited for last; kNone: the thread's own step before, or nothing.
  std::vector<uint32_t> held_by;
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  int64_t makespan() const { return last_ns - first_ns; }
};

/// Fails with kDamaged where things wait for each other in a circle, or times overflow.
Result<Emulation> emulate(const EmulatorGraph& graph);

}  // namespace tracesmith
