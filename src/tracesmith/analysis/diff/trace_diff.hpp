// SPDX-License-Identifier: Apache-2.0
// Compares two traces, or two groups of runs, and states how certain each difference is.
//
// With one run per side, a sample holds the durations of a name in that run. The result then
// applies to these two runs only: durations within a run are not independent, and one run does not
// show how much a name varies between runs. With several runs per side, a sample has one value per
// run, the mean duration, and the result applies to the programs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tracesmith/analysis/diff/diff_run.hpp"
#include "tracesmith/analysis/diff/rank_comparison.hpp"
#include "tracesmith/analysis/report/report.hpp"

namespace tracesmith {

/// Determined by the interval of the change (NameDiff::low, high).
enum class DiffStatus : uint8_t {
  /// The interval includes "no change" and nothing above DiffOptions::same; or nothing above
  /// ::least.
  kSame,
  kSlower,  ///< the interval excludes "no change" and is not entirely below DiffOptions::least
  kFaster,
  kAppeared,
  kVanished,
  kUnclear,  ///< the interval includes both "no change" and a large one
};
constexpr size_t kDiffStatuses = 6;
std::string_view toString(DiffStatus status);

/// Difference in kernels, copies or host calls of one name.
struct NameDiff {
  std::string name;
  TableId table{};
  uint64_t runs_a = 0, runs_b = 0;  ///< number of runs that have the name
  double count_a = 0, count_b = 0;  ///< per run; mean over several runs
  double total_a_ns = 0, total_b_ns = 0;
  double mean_a_ns = 0, mean_b_ns = 0;  ///< per operation
  RankComparison durations;
  ShiftEstimate shift;     ///< shift of the typical duration, at the level of the whole table
  double median_a_ns = 0;  ///< of the sample; changes are expressed as shares of it
  double p_adjusted = 1;   ///< adjusted for the number of names (Benjamini and Hochberg 1995)
  bool testable = false;   ///< the sample sizes permit detecting a difference
  DiffStatus status = DiffStatus::kSame;

  double share(double ns) const { return median_a_ns > 0 ? ns / median_a_ns : 0; }
};

struct DiffOptions {
  /// Expected share of chance results among the names reported as slower or faster. If nothing
  /// differs: the probability that any is reported.
  double false_discoveries = 0.05;
  /// A change certainly below this share of the duration is reported as none.
  double least = 0.01;
  /// A change that may exceed this share is not reported as none.
  double same = 0.05;
};

/// Result of diffNames(). `level` is that of the intervals of all names: each holds with confidence
/// 1 - level.
struct NameDiffs {
  std::vector<NameDiff> names;  ///< by change of their total, the largest change first
  double level = 0;
};
/// Neither side may be empty. With one run per side, the runs must have kept their durations.
NameDiffs diffNames(std::span<const DiffRun> a, std::span<const DiffRun> b,
                    const DiffOptions& options = {});
std::vector<NameDiff> diffNames(const Trace& a, const Trace& b, const DiffOptions& options = {});

/// The comparison as tables: totals, steps if both sides have them, then names.
std::vector<ReportTable> diffReport(std::span<const DiffRun> a, std::span<const DiffRun> b,
                                    const DiffOptions& options = {}, size_t limit = 25);
std::vector<ReportTable> diffReport(const Trace& a, const Trace& b, const DiffOptions& options = {},
                                    size_t limit = 25);

}  // namespace tracesmith
