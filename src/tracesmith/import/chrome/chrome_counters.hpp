// SPDX-License-Identifier: Apache-2.0
// Counter events ("C") of Chrome's JSON. Each argument of an event belongs to its own counter
// track.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "tracesmith/import/json/event_shapes.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::import {

class ChromeCounters {
 public:
  /// Rows go to `delta`.
  explicit ChromeCounters(Trace& delta) : delta_(delta) {}

  /// Adds a row for each argument that is a number, also a quoted one, and returns how many it
  /// added. A track is identified by process, name, argument and, if present, "id".
  size_t add(const ChromeEvent& event, ProcessId process, int64_t time_ns);
  /// Number of arguments that were not numbers.
  uint64_t unreadable() const { return unreadable_; }

 private:
  Trace& delta_;
  std::map<std::string, CounterTrackId, std::less<>> tracks_;
  uint64_t unreadable_ = 0;
  std::string room_;
};

}  // namespace tracesmith::import
