// SPDX-License-Identifier: Apache-2.0
// CUPTI tells of what the device does whether or not calls are captured, and tells it late. Of a
// trace that arrives in parts this keeps the device work whose calls lie in the capture.
#pragma once

#include <cstdint>
#include <map>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

class CallWindow {
 public:
  /// From here on the calls of `part`s count. `now_ns` is CLOCK_MONOTONIC's.
  void begin(int64_t now_ns) {
    first_.clear();
    begin_ns_ = now_ns;
  }
  /// Removes from `part` the device work that no call of this capture has started. Calls come with
  /// their work or before it, and their ids grow.
  void restrict(Trace& part);

 private:
  int64_t begin_ns_ = 0;
  std::map<ProcessId, uint64_t> first_;  // correlation id of the capture's first call
};

}  // namespace tracesmith
