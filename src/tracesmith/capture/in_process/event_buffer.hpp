// SPDX-License-Identifier: Apache-2.0
// Where a profiler keeps events until they are taken: bounded, and every loss is counted.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "tracesmith/base/overflow_policy.hpp"
#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {

/// All methods may be called from any thread.
class EventBuffer {
 public:
  /// How long push() waits for room with OverflowPolicy::Block, before it drops the event. After
  /// that it does not wait again until events have been taken: nobody may be there to take them.
  static constexpr int64_t kMaxBlockNs = 100'000'000;

  EventBuffer(size_t capacity, OverflowPolicy policy) : capacity_(capacity), policy_(policy) {}

  /// False when the event was dropped. DropOldest takes it, and drops another one.
  bool push(TraceEvent event);
  size_t take(std::vector<TraceEvent>& out, size_t max);

  uint64_t captured() const;  ///< taken in and not dropped since
  uint64_t dropped() const;
  /// Whether a full buffer with OverflowPolicy::Block waits at all (it does at first).
  void setWaiting(bool waiting);

 private:
  const size_t capacity_;
  const OverflowPolicy policy_;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::deque<TraceEvent> events_;
  uint64_t pushed_ = 0;
  uint64_t dropped_ = 0;
  bool waiting_ = true;
  bool given_up_ = false;
};

}  // namespace tracesmith
