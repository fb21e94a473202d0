// SPDX-License-Identifier: Apache-2.0
// When each piece of device work ran, and when it would run after a change.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/emulate/emulator_graph.hpp"
#include "tracesmith/emulate/what_if.hpp"

namespace tracesmith {

/// Times are in ns from the start of the recorded or of the predicted period.
struct PredictedWork {
  TableId table{};
  uint32_t row = 0;
  uint32_t device = 0;  ///< in the order of the graph
  uint32_t stream = 0;  ///< as recorded, in the order of the graph
  uint32_t predicted_stream = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t predicted_begin_ns = 0;
  int64_t predicted_end_ns = 0;
  bool gone = false;  ///< removed, or fused into another
};

struct PredictedTimes {
  int64_t recorded_ns = 0;   ///< whole period
  int64_t unchanged_ns = 0;  ///< by the model, without the change
  int64_t predicted_ns = 0;
  std::vector<PredictedWork> work;  ///< by recorded start
};

/// Fails as emulatorGraph() and changed() do.
Result<PredictedTimes> predictTimes(const Trace& trace, const WhatIf& change,
                                    const EmulatorOptions& options = {});

}  // namespace tracesmith
