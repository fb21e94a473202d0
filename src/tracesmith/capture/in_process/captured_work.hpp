// SPDX-License-Identifier: Apache-2.0
// Keeps the device work whose host calls lie in the capture, for a trace that arrives in parts. It
// is needed because CUPTI reports device work late, and whether or not calls are captured.
#pragma once

#include <cstdint>
#include <map>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

class CallWindow {
 public:
  /// Starts a capture: host calls of later parts count. `now_ns`: CLOCK_MONOTONIC.
  void begin(int64_t now_ns) {
    first_.clear();
    begin_ns_ = now_ns;
  }
  /// Removes from `part` the device work that no call of this capture started. Calls arrive with
  /// their work or before it, and their correlation ids ascend.
  void restrict(Trace& part);

 private:
  int64_t begin_ns_ = 0;
  std::map<ProcessId, uint64_t> first_;  // correlation id of the capture's first call
};

}  // namespace tracesmith
