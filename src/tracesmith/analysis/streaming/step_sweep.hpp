// SPDX-License-Identifier: Apache-2.0
// stepUses() in one pass over device work in the order of time.
#pragma once

#include <map>
#include <vector>

#include "tracesmith/analysis/streaming/time_sweep.hpp"
#include "tracesmith/analysis/timing/step_finder.hpp"

namespace tracesmith {

class StepSweep {
 public:
  /// `tables` has the streams.
  StepSweep(const Trace& tables, Steps steps);
  void add(const StreamedOp& op);
  StepUses finish();

 private:
  struct Use {
    uint64_t launched = 0;
    std::map<DeviceId, BreakdownSweep> devices;
  };
  const Trace& tables_;
  Steps steps_;
  StepFinder finder_;
  StepFinder::Found last_;
  std::vector<Use> uses_;
};

}  // namespace tracesmith
