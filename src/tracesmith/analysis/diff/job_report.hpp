// SPDX-License-Identifier: Apache-2.0
// Traces of the ranks of one job, side by side. Each rank has its own clock, so the report compares
// durations and never times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tracesmith/analysis/diff/diff_run.hpp"
#include "tracesmith/analysis/report/report.hpp"

namespace tracesmith {

struct RankRun {
  std::string file;
  std::optional<int64_t> rank;  ///< as the trace says
  DiffRun run;                  ///< without individual durations

  static RankRun of(const Trace& trace, std::string file, std::optional<int64_t> rank);
};

/// Three tables: a row for each rank, in the order of their numbers; sum and spread of each
/// duration; and kernels with their time in all ranks. `limit`: kernels shown; 0: all.
std::vector<ReportTable> jobReport(std::vector<RankRun> ranks, size_t limit);

}  // namespace tracesmith
