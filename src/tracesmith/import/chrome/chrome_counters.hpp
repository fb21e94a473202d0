// SPDX-License-Identifier: Apache-2.0
// Counters of Chrome's JSON ("C"): each argument of such an event is a value of a track of its own.
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

  /// Adds a row for each argument that is a number, also one within quotes; how many. A track is of
  /// a process, a name, an argument, and the "id" where there is one.
  size_t add(const ChromeEvent& event, ProcessId process, int64_t time_ns);
  /// Arguments that were no numbers.
  uint64_t unreadable() const { return unreadable_; }

 private:
  Trace& delta_;
  std::map<std::string, CounterTrackId, std::less<>> tracks_;
  uint64_t unreadable_ = 0;
  std::string room_;
};

}  // namespace tracesmith::import
