// SPDX-License-Identifier: Apache-2.0
// The part of one run that a comparison needs: durations of kernels, copies and calls, by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct DiffRun {
  struct Sample {
    std::vector<double> durations;  ///< in ns; empty if not kept
    uint64_t count = 0;
    double total = 0;
  };
  std::map<std::pair<TableId, std::string>, Sample> names;

  /// Durations in ns, in this order: of the trace, of its devices' time, and of what the devices
  /// did in that time.
  struct Total {
    const char* what = "";
    int64_t ns = 0;
  };
  std::vector<Total> totals;
  size_t devices = 0;

  std::vector<double> steps;  ///< their durations
  std::string steps_basis;    ///< source of the steps, as readable text
  int steps_from = 0;         ///< source of the steps, for comparison: Steps::From

  /// `keep_durations`: keep individual durations; required when each side is one run.
  static DiffRun of(const Trace& trace, bool keep_durations = true);
};

}  // namespace tracesmith
