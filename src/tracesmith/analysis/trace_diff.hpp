// SPDX-License-Identifier: Apache-2.0
// What is different between two traces, and how sure that is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/analysis/rank_comparison.hpp"
#include "tracesmith/analysis/report.hpp"

namespace tracesmith {

enum class DiffStatus : uint8_t {
  kSame,
  kSlower,
  kFaster,
  kAppeared,
  kVanished,
  kUnclear,  ///< the mean changed by more than a twentieth, and there are too few to tell: no
             ///< samples of these sizes could have been called slower or faster
};
constexpr size_t kDiffStatuses = 6;
std::string_view toString(DiffStatus status);

/// Of kernels, copies and host calls by name.
struct NameDiff {
  std::string name;
  TableId table{};
  uint64_t count_a = 0, count_b = 0;
  int64_t total_a_ns = 0, total_b_ns = 0;
  double mean_a_ns = 0, mean_b_ns = 0;
  RankComparison durations;
  DiffStatus status = DiffStatus::kSame;
};

struct DiffOptions {
  /// Of the names that are called slower or faster, at most this share is expected to be so by
  /// chance (Benjamini and Hochberg 1995).
  double false_discoveries = 0.01;
  /// Effects below are called none, however sure they are (Romano 2006: "negligible").
  double least_effect = 0.147;
};

/// By how much their total changed, the largest change first.
std::vector<NameDiff> diffNames(const Trace& a, const Trace& b, const DiffOptions& options = {});

/// The same as tables: the whole, steps where both traces name them, then names.
std::vector<ReportTable> diffReport(const Trace& a, const Trace& b, const DiffOptions& options = {},
                                    size_t limit = 25);

}  // namespace tracesmith
