// SPDX-License-Identifier: Apache-2.0
// Traces of the ranks of one job, side by side. Ranks often have clocks of their own, so the report
// compares durations and never times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/analysis/diff/diff_run.hpp"
#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/model/ranks/ranks.hpp"

namespace tracesmith {

struct RankRun {
  std::string file;
  uint32_t rank = 0;
  DiffRun run;  ///< without individual durations

  static RankRun of(const Trace& trace, std::string file, uint32_t rank);
};

struct JobReportOptions {
  size_t limit = 0;          ///< kernels shown; 0: all
  bool short_names = false;  ///< kernels have short labels, for people (KernelLabels)
  std::vector<std::string>
      notes;  ///< about the ranks: how their numbers are known, what is missing
  std::string clocks = kRanksHaveOwnClocks;  ///< how far times of two ranks compare
  std::vector<ClockPair> clock_pairs;
};

/// A row for each rank, in the order of their numbers; sum and spread of each duration; kernels
/// with their time in all ranks; and, if there are any, the pairs of clocks.
std::vector<ReportTable> jobReport(std::vector<RankRun> ranks, const JobReportOptions& options);

}  // namespace tracesmith
