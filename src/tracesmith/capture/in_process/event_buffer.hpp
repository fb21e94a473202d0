// SPDX-License-Identifier: Apache-2.0
// A profiler's buffer of events until they are taken. It is bounded, and every loss is counted.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "tracesmith/base/overflow_policy.hpp"
#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {

/// All methods may be called from any thread.
class EventBuffer {
 public:
  /// How long push() waits for space with OverflowPolicy::Block before it drops the event. It then
  /// does not wait again until events have been taken, because there may be no reader.
  static constexpr int64_t kMaxBlockNs = 100'000'000;

  EventBuffer(size_t capacity, OverflowPolicy policy) : capacity_(capacity), policy_(policy) {}

  /// False when the event was dropped. DropOldest always accepts it, and drops the oldest one
  /// instead.
  bool push(TraceEvent event);
  size_t take(std::vector<TraceEvent>& out, size_t max);

  /// When the event that waits longest started; nullopt: none waits.
  std::optional<Timestamp> oldest() const;
  uint64_t captured() const;  ///< accepted, and not dropped since
  uint64_t dropped() const;
  /// Whether a full buffer with OverflowPolicy::Block waits at all (default: it does).
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
