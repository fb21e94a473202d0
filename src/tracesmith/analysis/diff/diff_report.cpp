// SPDX-License-Identifier: Apache-2.0
// Formats a comparison of runs as tables.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tracesmith/analysis/diff/trace_diff.hpp"
#include "tracesmith/analysis/report/report_parts.hpp"
#include "tracesmith/analysis/timing/distribution.hpp"
#include "tracesmith/analysis/timing/steps.hpp"

namespace tracesmith {
namespace {

using Q = Quantity;
using Runs = std::span<const DiffRun>;

constexpr ReportValue kNone = std::monostate{};

ReportValue whole(double value) { return static_cast<int64_t>(std::llround(value)); }
ReportValue ratioOf(double part, double of) { return of > 0 ? ReportValue(part / of) : kNone; }

std::string kindOf(TableId table) {
  switch (table) {
    case TableId::kCopy:
      return "copy";
    case TableId::kFill:
      return "fill";
    case TableId::kHostCall:
      return "host call";
    default:
      return "kernel";
  }
}

bool byRun(Runs a, Runs b) { return a.size() > 1 || b.size() > 1; }

/// Columns that compare two samples, and a row's values for them.
void addComparisonColumns(std::vector<ReportColumn>& columns, bool adjusted) {
  columns.push_back({"relative", "relative", Q::kShare});
  columns.push_back({"relative_low", "from", Q::kShare});
  columns.push_back({"relative_high", "to", Q::kShare});
  columns.push_back({"effect", "effect", Q::kNumber, 3});
  columns.push_back({"p", "p", Q::kProbability, adjusted ? 4 : 0});
  if (adjusted) columns.push_back({"p_adjusted", "p adjusted", Q::kProbability});
}
void addComparison(std::vector<ReportValue>& row, const RankComparison& ranks,
                   const ShiftEstimate& shift, double base) {
  row.push_back(ratioOf(shift.shift, base));
  row.push_back(shift.bounded ? ratioOf(shift.low, base) : kNone);
  row.push_back(shift.bounded ? ratioOf(shift.high, base) : kNone);
  row.push_back(ranks.effect);
  row.push_back(ranks.p);
}

/// Fewest runs per side with which chance can be ruled out at all.
constexpr size_t kFewestRuns = 4;

std::string tooFewRuns(Runs a, Runs b, double level) {
  std::vector<double> low(a.size());
  std::vector<double> high(b.size(), 1e9);
  for (size_t i = 0; i < low.size(); ++i) low[i] = static_cast<double>(i);
  for (size_t i = 0; i < high.size(); ++i) high[i] += static_cast<double>(i);
  const double least = compareRanks(low, high).least_p;
  if (least <= level) return "";
  return fmt::format(
      "{} and {} runs are too few to rule out chance (p is never below {:.2f}): use at least {} "
      "per side, and more if many names are compared",
      a.size(), b.size(), least, kFewestRuns);
}

ReportTable wholeOf(Runs a, Runs b, const DiffOptions& options) {
  const bool by_run = byRun(a, b);
  ReportTable table{"diff",
                    "Before and after",
                    {{"what", "", Q::kText},
                     {"a_ns", "A", Q::kNs},
                     {"b_ns", "B", Q::kNs},
                     {"change_ns", "change", Q::kNs}},
                    {},
                    {}};
  if (by_run) {
    addComparisonColumns(table.columns, false);
    table.title += fmt::format(": medians of {} and {} runs", a.size(), b.size());
  } else {
    table.columns.push_back({"change", "relative", Q::kShare});
  }
  for (size_t i = 0; i < a[0].totals.size(); ++i) {
    std::vector<double> in_a, in_b;
    for (const DiffRun& run : a) in_a.push_back(static_cast<double>(run.totals[i].ns));
    for (const DiffRun& run : b) in_b.push_back(static_cast<double>(run.totals[i].ns));
    const double va = distributionOf(in_a).p50;
    const double vb = distributionOf(in_b).p50;
    std::vector<ReportValue> row = {std::string(a[0].totals[i].what), whole(va), whole(vb),
                                    whole(vb - va)};
    if (by_run) {
      const RankComparison ranks = compareRanks(in_a, in_b);
      addComparison(row, ranks, estimateShift(in_a, in_b, options.false_discoveries), va);
    } else {
      row.push_back(ratioOf(vb - va, va));
    }
    table.rows.push_back(std::move(row));
  }
  size_t most_a = 0;
  size_t most_b = 0;
  for (const DiffRun& run : a) most_a = std::max(most_a, run.devices);
  for (const DiffRun& run : b) most_b = std::max(most_b, run.devices);
  if (std::max(most_a, most_b) > 1) {
    table.note = fmt::format("times are summed over devices: {} in A, {} in B", most_a, most_b);
  }
  return table;
}

void addSteps(Runs a, Runs b, const DiffOptions& options, std::vector<ReportTable>& tables) {
  const DiffRun& first = a[0];
  for (const Runs side : {a, b}) {
    for (const DiffRun& run : side) {
      if (run.steps.empty() || run.steps_from != first.steps_from) return;
    }
  }
  const bool by_run = byRun(a, b);
  const auto sampleOf = [&](Runs side) {
    std::vector<double> out;
    if (!by_run) return side[0].steps;
    for (const DiffRun& run : side) out.push_back(distributionOf(std::vector(run.steps)).p50);
    return out;
  };
  const auto stepsOf = [](Runs side) {
    size_t count = 0;
    for (const DiffRun& run : side) count += run.steps.size();
    return static_cast<int64_t>(count);
  };
  std::vector<double> in_a = sampleOf(a);
  std::vector<double> in_b = sampleOf(b);
  const double median_a = distributionOf(in_a).p50;
  const double median_b = distributionOf(in_b).p50;
  ReportTable table{"diff_steps",
                    by_run ? "Steps: one value per run, the median" : "Steps of these two runs",
                    {{"steps_a", "steps A", Q::kCount},
                     {"steps_b", "steps B", Q::kCount},
                     {"median_a_ns", "median A", Q::kNs},
                     {"median_b_ns", "median B", Q::kNs},
                     {"change", "of medians", Q::kShare}},
                    {},
                    {}};
  addComparisonColumns(table.columns, false);
  std::vector<ReportValue> row = {stepsOf(a), stepsOf(b), median_a, median_b,
                                  ratioOf(median_b - median_a, median_a)};
  const RankComparison ranks = compareRanks(in_a, in_b);
  addComparison(row, ranks, estimateShift(in_a, in_b, options.false_discoveries), median_a);
  table.rows.push_back(std::move(row));
  table.note = first.steps_basis;
  if (b[0].steps_basis != table.note) table.note += "; of B: " + b[0].steps_basis;
  tables.push_back(std::move(table));
}

ReportTable namesOf(Runs a, Runs b, const DiffOptions& options, size_t limit) {
  const bool by_run = byRun(a, b);
  ReportTable table{
      "diff_names",
      by_run ? fmt::format("By name, means of {} and {} runs, the largest change of "
                           "the total first",
                           a.size(), b.size())
             : std::string("By name in these two runs, the largest change of the "
                           "total first"),
      {{"status", "status", Q::kText}, {"kind", "kind", Q::kText}, {"name", "name", Q::kText}},
      {},
      {}};
  if (by_run) {
    table.columns.push_back({"runs_a", "runs A", Q::kCount, 2});
    table.columns.push_back({"runs_b", "runs B", Q::kCount, 2});
  }
  for (const ReportColumn& column :
       std::initializer_list<ReportColumn>{{"count_a", "count A", Q::kCount, 1},
                                           {"count_b", "count B", Q::kCount, 1},
                                           {"total_a_ns", "total A", Q::kNs},
                                           {"total_b_ns", "total B", Q::kNs},
                                           {"change_ns", "change", Q::kNs},
                                           {"mean_a_ns", "mean A", Q::kNs, 5},
                                           {"mean_b_ns", "mean B", Q::kNs, 5}}) {
    table.columns.push_back(column);
  }
  addComparisonColumns(table.columns, true);
  const NameDiffs diffs = diffNames(a, b, options);
  std::array<uint64_t, kDiffStatuses> by_status{};
  for (const NameDiff& d : diffs.names) ++by_status[static_cast<size_t>(d.status)];
  for (const NameDiff& d : diffs.names) {
    if (limit != 0 && table.rows.size() == limit) break;
    std::vector<ReportValue> row = {std::string(toString(d.status)), kindOf(d.table), d.name};
    if (by_run) {
      row.push_back(static_cast<int64_t>(d.runs_a));
      row.push_back(static_cast<int64_t>(d.runs_b));
    }
    for (const double value :
         {d.count_a, d.count_b, d.total_a_ns, d.total_b_ns, d.total_b_ns - d.total_a_ns}) {
      row.push_back(whole(value));
    }
    row.push_back(d.runs_a > 0 ? ReportValue(d.mean_a_ns) : kNone);
    row.push_back(d.runs_b > 0 ? ReportValue(d.mean_b_ns) : kNone);
    if (d.runs_a > 0 && d.runs_b > 0) {
      addComparison(row, d.durations, d.shift, d.median_a_ns);
      row.push_back(d.testable ? ReportValue(d.p_adjusted) : kNone);
    } else {
      row.resize(table.columns.size(), kNone);
    }
    table.rows.push_back(std::move(row));
  }
  for (size_t i = 0; i < by_status.size(); ++i) {
    if (by_status[i] == 0) continue;
    table.note += (table.note.empty() ? "" : ", ") + std::to_string(by_status[i]) + " " +
                  std::string(toString(static_cast<DiffStatus>(i)));
  }
  report_parts::noteRest(table, diffs.names.size());
  if (by_run) {
    const std::string few = tooFewRuns(a, b, options.false_discoveries);
    if (!few.empty()) report_parts::note(table, few);
  } else {
    report_parts::note(table,
                       "slower and faster apply to these two runs only: to account for variation "
                       "between runs, compare several per side (tracesmith diff a*.sbt -- b*.sbt)");
  }
  report_parts::note(
      table,
      fmt::format(
          "relative: change of the typical duration, and its limits with {:.4g} % confidence",
          100 * (1 - diffs.level)));
  return table;
}

}  // namespace

std::vector<ReportTable> diffReport(Runs a, Runs b, const DiffOptions& options, size_t limit) {
  std::vector<ReportTable> tables;
  tables.push_back(wholeOf(a, b, options));
  addSteps(a, b, options, tables);
  tables.push_back(namesOf(a, b, options, limit));
  return tables;
}

std::vector<ReportTable> diffReport(const Trace& a, const Trace& b, const DiffOptions& options,
                                    size_t limit) {
  const DiffRun run_a = DiffRun::of(a);
  const DiffRun run_b = DiffRun::of(b);
  return diffReport(Runs(&run_a, 1), Runs(&run_b, 1), options, limit);
}

}  // namespace tracesmith
