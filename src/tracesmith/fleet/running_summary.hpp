// SPDX-License-Identifier: Apache-2.0
// The summary of a recording of which only the newest events are kept: it reads the parts one after
// another, before they are removed.
#pragma once

#include <cstdint>
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
  /// before it under the same ids. What fails is said by status() as well.
  Status add(const std::string& part);
  /// Of all parts. It has one trace, complete. The steps are the caller's; nothing may be added
  /// afterwards.
  FleetSummary finish(const ValueSums& steps_ns);
  /// The first part that could not be read.
  const Status& status() const { return status_; }

 private:
  Status addPart(const std::string& part);

  Trace tables_;  // of the last part
  SummaryBuilder builder_;
  OpMerger merger_;
  /// Of the last part and of the one before it.
  std::unique_ptr<LaunchTimes> launches_, earlier_launches_;
  std::map<std::string, uint64_t> events_;
  std::map<std::string, uint64_t> versions_;
  uint64_t file_bytes_ = 0;
  uint64_t damaged_bytes_ = 0;
  Status status_;
};

}  // namespace tracesmith
