// SPDX-License-Identifier: Apache-2.0
// Makes TraceEvents of a trace that arrives in parts, so that they are those that the whole trace
// would give: a host call waits for the device work that it started, and what the dictionaries of
// each part tell again is told once.
#pragma once

#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "tracesmith/model/trace.hpp"
#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {

/// One thread at a time. All parts belong to one trace: their ids mean the same.
class EventFeed {
 public:
  /// Events of `part`, and of host calls of earlier parts whose device work is in this one.
  std::vector<TraceEvent> next(Trace part);
  /// Host calls that wait for their device work.
  size_t waiting() const { return waiting_.size(); }
  /// Events of those, for when no more is to come. `dictionaries`: the last part, or a later one.
  std::vector<TraceEvent> flush(Trace dictionaries);

 private:
  std::vector<TraceEvent> told(const Trace& trace);

  std::vector<HostCallRow> waiting_;
  std::set<std::tuple<EventType, Timestamp, uint32_t, uint32_t>> objects_;  // told already
};

}  // namespace tracesmith
