// SPDX-License-Identifier: Apache-2.0
// Which thread made the call that launched a piece of work: correlation ids are of one process.
// 16 bytes a call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "tracesmith/model/ids.hpp"

namespace tracesmith::import {

class LaunchingThreads {
 public:
  void add(ProcessId process, uint64_t correlation, ThreadId thread) {
    if (correlation == 0 || thread == ThreadId::kNone) return;
    calls_.push_back({correlation, process, thread});
    sorted_ = false;
  }
  /// kNone: no call with that id, as in traces that were cut.
  ThreadId at(ProcessId process, uint64_t correlation) {
    if (correlation == 0) return ThreadId::kNone;
    if (!sorted_) {
      std::stable_sort(calls_.begin(), calls_.end(), before);
      sorted_ = true;
    }
    const Call wanted{correlation, process, ThreadId::kNone};
    const auto it = std::lower_bound(calls_.begin(), calls_.end(), wanted, before);
    const bool found = it != calls_.end() && !before(wanted, *it);
    return found ? it->thread : ThreadId::kNone;
  }

 private:
  struct Call {
    uint64_t correlation;
    ProcessId process;
    ThreadId thread;
  };
  static bool before(const Call& a, const Call& b) {
    return std::tie(a.process, a.correlation) < std::tie(b.process, b.correlation);
  }
  std::vector<Call> calls_;
  bool sorted_ = true;
};

}  // namespace tracesmith::import
