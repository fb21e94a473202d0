// SPDX-License-Identifier: Apache-2.0
// Finds the call that launched a piece of work, with its thread and call stack. Correlation ids are
// unique within one process. Costs 24 bytes per call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "tracesmith/model/ids.hpp"

namespace tracesmith::import {

struct LaunchingCall {
  uint64_t correlation = 0;
  ProcessId process = ProcessId::kNone;
  ThreadId thread = ThreadId::kNone;
  CallPathId call_path = CallPathId::kNone;
};

class LaunchingCalls {
 public:
  void add(const LaunchingCall& call) {
    if (call.correlation == 0) return;
    calls_.push_back(call);
    sorted_ = false;
  }
  /// Returns an empty LaunchingCall if there is no call with that id, as in truncated traces.
  LaunchingCall at(ProcessId process, uint64_t correlation) {
    if (correlation == 0) return {};
    if (!sorted_) {
      std::stable_sort(calls_.begin(), calls_.end(), before);
      sorted_ = true;
    }
    const LaunchingCall wanted{.correlation = correlation, .process = process};
    const auto it = std::lower_bound(calls_.begin(), calls_.end(), wanted, before);
    const bool found = it != calls_.end() && !before(wanted, *it);
    return found ? *it : LaunchingCall{};
  }

 private:
  static bool before(const LaunchingCall& a, const LaunchingCall& b) {
    return std::tie(a.process, a.correlation) < std::tie(b.process, b.correlation);
  }
  std::vector<LaunchingCall> calls_;
  bool sorted_ = true;
};

}  // namespace tracesmith::import
