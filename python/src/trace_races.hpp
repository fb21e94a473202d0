// SPDX-License-Identifier: Apache-2.0
// The races of a recording as a table, and as the text of `tracesmith races`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "report_tables.hpp"
#include "tracesmith/base/result.hpp"

namespace tracesmith::python {

/// How to confirm races by replays.
struct RaceTrialLimits {
  RaceTrialLimits(uint32_t most, std::string on, double limit_s)
      : replays(most), device(std::move(on)), step_limit_s(limit_s) {}
  uint32_t replays;
  std::string device;
  double step_limit_s;
};

/// `path`: a recording, or the trace it belongs to. `possible`: also races that are only possible.
/// With `limits`, replays the commands of each race in both orders.
Result<ReportTables> racesOf(const std::string& path, bool possible,
                             const std::optional<RaceTrialLimits>& limits);

}  // namespace tracesmith::python
