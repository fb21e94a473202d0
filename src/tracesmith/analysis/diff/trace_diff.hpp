// SPDX-License-Identifier: Apache-2.0
// What is different between two traces, or two groups of runs, and how sure that is.
//
// With one run a side the samples are the single durations of a name in each run. They tell these
// two runs apart and no more: the durations within a run are not independent of each other, and how
// much a name differs from run to run cannot be known from one run. With several runs a side a
// sample has one value a run, the mean duration, and the verdict is about the programs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tracesmith/analysis/diff/diff_run.hpp"
#include "tracesmith/analysis/diff/rank_comparison.hpp"
#include "tracesmith/analysis/report/report.hpp"

namespace tracesmith {

/// By the interval of the change (NameDiff::low, high).
enum class DiffStatus : uint8_t {
  kSame,    ///< no change is possible, and none above DiffOptions::same is; or none above ::least
  kSlower,  ///< the interval leaves out "no change", and is not wholly below DiffOptions::least
  kFaster,
  kAppeared,
  kVanished,
  kUnclear,  ///< no change is possible, and so is a large one
};
constexpr size_t kDiffStatuses = 6;
std::string_view toString(DiffStatus status);

/// Of kernels, copies and host calls by name.
struct NameDiff {
  std::string name;
  TableId table{};
  uint64_t runs_a = 0, runs_b = 0;  ///< that have it
  double count_a = 0, count_b = 0;  ///< of a run; of several, their mean
  double total_a_ns = 0, total_b_ns = 0;
  double mean_a_ns = 0, mean_b_ns = 0;  ///< of one operation
  RankComparison durations;
  ShiftEstimate shift;     ///< of the typical duration, at the level of the whole table
  double median_a_ns = 0;  ///< of the sample: what shares of changes are of
  double p_adjusted = 1;   ///< for the number of names (Benjamini and Hochberg 1995)
  bool testable = false;   ///< as many values as these could have told a difference
  DiffStatus status = DiffStatus::kSame;

  double share(double ns) const { return median_a_ns > 0 ? ns / median_a_ns : 0; }
};

struct DiffOptions {
  /// Of the names that are called slower or faster, at most this share is expected to be so by
  /// chance; where nothing differs, the chance that any is.
  double false_discoveries = 0.05;
  /// A change that is surely below this share of the duration is called none.
  double least = 0.01;
  /// A change that could be larger than this share is not called none.
  double same = 0.05;
};

/// The level of which the intervals of all names of a table are: 1 - level is how sure each is.
struct NameDiffs {
  std::vector<NameDiff> names;  ///< by how much their total changed, the largest change first
  double level = 0;
};
/// Neither side may be empty. With one run a side the runs must have their durations.
NameDiffs diffNames(std::span<const DiffRun> a, std::span<const DiffRun> b,
                    const DiffOptions& options = {});
std::vector<NameDiff> diffNames(const Trace& a, const Trace& b, const DiffOptions& options = {});

/// The same as tables: the whole, steps where both sides have them, then names.
std::vector<ReportTable> diffReport(std::span<const DiffRun> a, std::span<const DiffRun> b,
                                    const DiffOptions& options = {}, size_t limit = 25);
std::vector<ReportTable> diffReport(const Trace& a, const Trace& b, const DiffOptions& options = {},
                                    size_t limit = 25);

}  // namespace tracesmith
