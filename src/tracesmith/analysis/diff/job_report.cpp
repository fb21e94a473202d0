// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/diff/job_report.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "tracesmith/analysis/report/report_parts.hpp"

namespace tracesmith {
namespace {

using Q = Quantity;
using report_parts::note;
using report_parts::shareOf;

constexpr const char* kOwnClocks =
    "each rank has its own clock: durations can be compared, starts and ends cannot";

/// The rank for a row: its number, or the file if the trace does not have one.
std::string nameOf(const RankRun& rank) {
  return rank.rank ? std::to_string(*rank.rank) : rank.file;
}

/// The duration `what` of a run; see DiffRun::totals.
int64_t totalOf(const DiffRun& run, std::string_view what) {
  for (const DiffRun::Total& total : run.totals) {
    if (total.what == what) return total.ns;
  }
  return 0;
}

std::optional<int64_t> meanStep(const DiffRun& run) {
  // Steps that were inferred from equal kernels need not be the same in each rank.
  const bool inferred = run.steps_from == static_cast<int>(Steps::From::kRepeatedKernels);
  if (run.steps.empty() || inferred) return std::nullopt;
  const double sum = std::accumulate(run.steps.begin(), run.steps.end(), 0.0);
  return static_cast<int64_t>(sum / static_cast<double>(run.steps.size()));
}

ReportTable rankTable(const std::vector<RankRun>& ranks) {
  ReportTable table{"ranks",
                    "Ranks, with the time of their devices",
                    {{"rank", "rank", Q::kText},
                     {"file", "file", Q::kText, 4},
                     {"devices", "devices", Q::kCount, 3},
                     {"trace_ns", "trace", Q::kNs},
                     {"device_busy_ns", "busy", Q::kNs},
                     {"device_idle_ns", "idle", Q::kNs},
                     {"utilization", "busy/span", Q::kShare},
                     {"compute_ns", "compute", Q::kNs},
                     {"communication_ns", "communication", Q::kNs},
                     {"memory_ns", "copies", Q::kNs, 1},
                     {"steps", "steps", Q::kCount, 2},
                     {"mean_step_ns", "mean step", Q::kNs, 2}},
                    {},
                    kOwnClocks};
  std::set<int64_t> seen;
  std::set<int64_t> twice;
  size_t unknown = 0;
  for (const RankRun& rank : ranks) {
    const DiffRun& run = rank.run;
    const int64_t busy = totalOf(run, "device busy");
    const std::optional<int64_t> step = meanStep(run);
    table.rows.push_back({rank.rank ? ReportValue(nameOf(rank)) : ReportValue(), rank.file,
                          count(run.devices), totalOf(run, "trace"), busy,
                          totalOf(run, "device idle"), shareOf(busy, totalOf(run, "device span")),
                          totalOf(run, "compute"), totalOf(run, "communication"),
                          totalOf(run, "copies"), count(run.steps.size()),
                          step ? ReportValue(*step) : ReportValue()});
    if (!rank.rank) ++unknown;
    if (rank.rank && !seen.insert(*rank.rank).second) twice.insert(*rank.rank);
  }
  for (const int64_t rank : twice) {
    note(table, "several files say that they are rank " + std::to_string(rank));
  }
  if (unknown > 0) {
    note(table, "files that do not say their rank: " + std::to_string(unknown));
  }
  return table;
}

ReportTable spreadTable(const std::vector<RankRun>& ranks) {
  ReportTable table{"rank_spread",
                    "Sum and spread over the ranks",
                    {{"what", "", Q::kText},
                     {"sum_ns", "sum", Q::kNs},
                     {"mean_ns", "mean", Q::kNs},
                     {"min_ns", "least", Q::kNs},
                     {"min_rank", "least in", Q::kText, 1},
                     {"max_ns", "most", Q::kNs},
                     {"max_rank", "most in", Q::kText, 1},
                     {"spread", "(most-least)/mean", Q::kShare}},
                    {},
                    {}};
  const auto add = [&](const std::string& what, const std::vector<int64_t>& values,
                       const std::vector<const RankRun*>& owners) {
    if (values.empty()) return;
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const int64_t sum = std::accumulate(values.begin(), values.end(), int64_t{0});
    const int64_t mean = sum / static_cast<int64_t>(values.size());
    const auto owner = [&](auto at) {
      return nameOf(*owners[static_cast<size_t>(at - values.begin())]);
    };
    const bool equal = *least == *most;  // then it is in no rank more than in others
    table.rows.push_back({what, sum, mean, *least, equal ? ReportValue() : owner(least), *most,
                          equal ? ReportValue() : owner(most), shareOf(*most - *least, mean)});
  };
  std::vector<const RankRun*> all;
  for (const RankRun& rank : ranks) all.push_back(&rank);
  for (const DiffRun::Total& total : ranks.front().run.totals) {
    std::vector<int64_t> values;
    for (const RankRun& rank : ranks) values.push_back(totalOf(rank.run, total.what));
    add(total.what, values, all);
  }
  std::vector<int64_t> steps;
  std::vector<const RankRun*> with_steps;
  for (const RankRun& rank : ranks) {
    if (const std::optional<int64_t> step = meanStep(rank.run)) {
      steps.push_back(*step);
      with_steps.push_back(&rank);
    }
  }
  add("mean step", steps, with_steps);
  return table;
}

/// A kernel's time in each rank that ran it.
struct KernelInRanks {
  uint64_t launches = 0;
  int64_t total_ns = 0;
  std::vector<std::pair<int64_t, const RankRun*>> by_rank;
};

ReportTable kernelTable(const std::vector<RankRun>& ranks, size_t limit) {
  ReportTable table{"rank_kernels",
                    "Kernels in all ranks, by total time",
                    {{"name", "kernel", Q::kText},
                     {"ranks", "ranks", Q::kCount},
                     {"launches", "launches", Q::kCount},
                     {"total_ns", "total", Q::kNs},
                     {"min_ns", "least", Q::kNs},
                     {"min_rank", "least in", Q::kText, 1},
                     {"max_ns", "most", Q::kNs},
                     {"max_rank", "most in", Q::kText, 1}},
                    {},
                    {}};
  std::map<std::string, KernelInRanks> kernels;
  for (const RankRun& rank : ranks) {
    for (const auto& [key, sample] : rank.run.names) {
      if (key.first != TableId::kKernel) continue;
      KernelInRanks& kernel = kernels[key.second];
      const auto ns = static_cast<int64_t>(sample.total);
      kernel.launches += sample.count;
      kernel.total_ns += ns;
      kernel.by_rank.emplace_back(ns, &rank);
    }
  }
  for (const auto& [name, kernel] : kernels) {
    const auto [least, most] =
        std::minmax_element(kernel.by_rank.begin(), kernel.by_rank.end(),
                            [](const auto& a, const auto& b) { return a.first < b.first; });
    table.rows.push_back({name, count(kernel.by_rank.size()), count(kernel.launches),
                          kernel.total_ns, least->first, nameOf(*least->second), most->first,
                          nameOf(*most->second)});
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
    return std::get<int64_t>(a[3]) > std::get<int64_t>(b[3]);
  });
  const size_t all = table.rows.size();
  if (limit != 0) table.rows.resize(std::min(limit, all));
  report_parts::noteRest(table, all);
  if (all == 0) table.note = "no rank has kernels";
  return table;
}

}  // namespace

RankRun RankRun::of(const Trace& trace, std::string file, std::optional<int64_t> rank) {
  return {std::move(file), rank, DiffRun::of(trace, false)};
}

std::vector<ReportTable> jobReport(std::vector<RankRun> ranks, size_t limit) {
  if (ranks.empty()) return {};
  std::stable_sort(ranks.begin(), ranks.end(), [](const RankRun& a, const RankRun& b) {
    return std::pair(!a.rank, a.rank) < std::pair(!b.rank, b.rank);
  });
  return {rankTable(ranks), spreadTable(ranks), kernelTable(ranks, limit)};
}

}  // namespace tracesmith
