// SPDX-License-Identifier: Apache-2.0
// Makes TraceEvents from a trace that arrives in parts: the same events that the whole trace would
// give. A host call is held back until its device work arrives. Dictionary rows that each part
// repeats give one event only.
#pragma once

#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "tracesmith/model/trace.hpp"
#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {

/// One thread at a time. All parts belong to one trace: an id means the same in each.
class EventFeed {
 public:
  /// Events of `part`, and of host calls of earlier parts whose device work is in this one.
  std::vector<TraceEvent> next(Trace part);
  /// Number of host calls that wait for their device work.
  size_t waiting() const { return waiting_.size(); }
  /// Events of the host calls still waiting, once no more parts come. `dictionaries`: the last
  /// part, or a later one.
  std::vector<TraceEvent> flush(Trace dictionaries);

 private:
  std::vector<TraceEvent> makeEvents(const Trace& trace);

  std::vector<HostCallRow> waiting_;
  std::set<std::tuple<EventType, Timestamp, uint32_t, uint32_t>> objects_;  // already returned
};

}  // namespace tracesmith
