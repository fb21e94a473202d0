// SPDX-License-Identifier: Apache-2.0
// What a comparison keeps of one run: how long its kernels, copies and calls took, by name.
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
    std::vector<double> durations;  ///< in ns; empty where they were not kept
    uint64_t count = 0;
    double total = 0;
  };
  std::map<std::pair<TableId, std::string>, Sample> names;

  /// Lengths in ns: of the trace, of its devices' time and what they did with it, in that order.
  struct Whole {
    const char* what = "";
    int64_t ns = 0;
  };
  std::vector<Whole> whole;
  size_t devices = 0;

  std::vector<double> steps;  ///< their durations
  std::string steps_basis;    ///< where the steps come from, for people
  int steps_from = 0;         ///< the same, to be compared: Steps::From

  /// `keep_durations`: single ones are needed where each side is one run.
  static DiffRun of(const Trace& trace, bool keep_durations = true);
};

}  // namespace tracesmith
