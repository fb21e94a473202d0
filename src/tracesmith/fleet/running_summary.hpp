// SPDX-License-Identifier: Apache-2.0
// The summary of a recording of which only the newest events are kept: it reads the parts one after
// another, before they are removed.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "tracesmith/analysis/streaming/device_op_stream.hpp"
#include "tracesmith/analysis/streaming/launch_times.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/fleet/fleet_summary.hpp"
#include "tracesmith/fleet/summary_builder.hpp"

namespace tracesmith {

class RunningSummary {
 public:
  RunningSummary();
  RunningSummary(const RunningSummary&) = delete;  // the builder refers to the tables
  RunningSummary& operator=(const RunningSummary&) = delete;

  /// Adds the events of the next part: a trace that has the strings and dictionaries of the parts
  /// before it under the same ids, but "" for names that its events do not use. A part that cannot
  /// be read leaves the summary damaged.
  Status add(const std::string& part);
  /// Of all parts. It has one trace, complete. The steps are the caller's; nothing may be added
  /// afterwards.
  FleetSummary finish(const ValueSums& steps_ns);
  /// Parts that could not be read, or only in part.
  uint64_t lostParts() const { return lost_parts_; }

 private:
  Status addPart(const std::string& part);
  void takeTables(const Trace& of_part);

  Trace tables_;  // of the last part
  SummaryBuilder builder_;
  OpMerger merger_;
  struct OfPart {
    std::unique_ptr<LaunchTimes> times;
    int64_t added_ns = 0;
  };
  std::deque<OfPart> launches_;  // of the last parts; each looks into the one before
  std::map<std::string, uint64_t> events_;
  std::map<std::string, uint64_t> versions_;
  uint64_t event_bytes_ = 0;
  uint64_t other_bytes_ = 0;  // of the last part
  uint64_t damaged_bytes_ = 0;
  uint64_t lost_parts_ = 0;
  int64_t clock_error_ns_ = 0;
};

}  // namespace tracesmith
