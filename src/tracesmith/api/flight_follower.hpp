// SPDX-License-Identifier: Apache-2.0
// What a flight recorder says of all events, of which it keeps only the newest: their summary, and
// which steps are slow.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/flight/flight_observer.hpp"
#include "tracesmith/fleet/running_summary.hpp"
#include "tracesmith/fleet/step_watch.hpp"

namespace tracesmith {

class FlightFollower : public FlightObserver {
 public:
  /// `slow_step`: the window is saved when a step takes more than this times the median of those
  /// before it; 0: never for that.
  explicit FlightFollower(double slow_step) : steps_(slow_step) {}

  std::string onRows(const Trace& rows) override { return steps_.add(rows); }
  void onPart(const std::string& path, bool is_last) override;

  /// Once the recording has ended: writes the summary of all events beside the finished trace, as
  /// TRACE.summary, where `tracesmith fleet` takes it for the trace's own.
  Status writeSummary(const std::string& trace);
  /// Parts of the recording whose events are not in the summary, or not all.
  uint64_t lostParts() const { return summary_.lostParts(); }

 private:
  StepWatch steps_;
  RunningSummary summary_;
  std::string failed_;  // why a part was not added, apart from summary_.status()
};

}  // namespace tracesmith
