// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/diff/job_report.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "tracesmith/analysis/kernel_names/kernel_labels.hpp"
#include "tracesmith/analysis/report/report_parts.hpp"
#include "tracesmith/analysis/timing/steps.hpp"
#include "tracesmith/model/ranks/ranks.hpp"

namespace tracesmith {
namespace {

using Q = Quantity;
using report_parts::note;
using report_parts::shareOf;

/// The ranks in the order of their numbers, with a name for each.
class Job {
 public:
  explicit Job(std::vector<RankRun> ranks) : ranks_(std::move(ranks)) {
    std::stable_sort(ranks_.begin(), ranks_.end(),
                     [](const RankRun& a, const RankRun& b) { return a.rank < b.rank; });
    for (const RankRun& rank : ranks_) ++files_of_[rank.rank];
  }

  const std::vector<RankRun>& ranks() const { return ranks_; }
  /// The rank's number, with the file if several files are of this rank.
  std::string nameOf(const RankRun& rank) const {
    const std::string number = std::to_string(rank.rank);
    return files_of_.at(rank.rank) == 1 ? number : number + " (" + rank.file + ")";
  }
  const std::map<uint32_t, size_t>& filesOf() const { return files_of_; }

 private:
  std::vector<RankRun> ranks_;
  std::map<uint32_t, size_t> files_of_;
};

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

ReportTable rankTable(const Job& job, const JobReportOptions& options) {
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
                    options.clocks};
  for (const RankRun& rank : job.ranks()) {
    const DiffRun& run = rank.run;
    const int64_t busy = totalOf(run, "device busy");
    const std::optional<int64_t> step = meanStep(run);
    table.rows.push_back({std::to_string(rank.rank), rank.file, count(run.devices),
                          totalOf(run, "trace"), busy, totalOf(run, "device idle"),
                          shareOf(busy, totalOf(run, "device span")), totalOf(run, "compute"),
                          totalOf(run, "communication"), totalOf(run, "copies"),
                          count(run.steps.size()), step ? ReportValue(*step) : ReportValue()});
  }
  for (const auto& [rank, files] : job.filesOf()) {
    if (files > 1) note(table, "several files say that they are rank " + std::to_string(rank));
  }
  for (const std::string& text : options.notes) note(table, text);
  return table;
}

ReportTable spreadTable(const Job& job) {
  const std::vector<RankRun>& ranks = job.ranks();
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
      return job.nameOf(*owners[static_cast<size_t>(at - values.begin())]);
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

/// Short labels of the kernels' names; without `wanted` the names.
std::map<std::string_view, std::string> labelsOf(
    const std::map<std::string, KernelInRanks>& kernels, bool wanted) {
  std::vector<std::string_view> names;
  for (const auto& [name, kernel] : kernels) names.push_back(name);
  const std::vector<std::string> labels =
      wanted ? distinctLabels(names) : std::vector<std::string>(names.begin(), names.end());
  std::map<std::string_view, std::string> out;
  for (size_t i = 0; i < names.size(); ++i) out[names[i]] = labels[i];
  return out;
}

ReportTable kernelTable(const Job& job, const JobReportOptions& options) {
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
  for (const RankRun& rank : job.ranks()) {
    for (const auto& [key, sample] : rank.run.names) {
      if (key.first != TableId::kKernel) continue;
      KernelInRanks& kernel = kernels[key.second];
      const auto ns = static_cast<int64_t>(sample.total);
      kernel.launches += sample.count;
      kernel.total_ns += ns;
      kernel.by_rank.emplace_back(ns, &rank);
    }
  }
  const std::map<std::string_view, std::string> labels = labelsOf(kernels, options.short_names);
  for (const auto& [name, kernel] : kernels) {
    const auto [least, most] =
        std::minmax_element(kernel.by_rank.begin(), kernel.by_rank.end(),
                            [](const auto& a, const auto& b) { return a.first < b.first; });
    table.rows.push_back({labels.at(name), count(kernel.by_rank.size()), count(kernel.launches),
                          kernel.total_ns, least->first, job.nameOf(*least->second), most->first,
                          job.nameOf(*most->second)});
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
    return std::get<int64_t>(a[3]) > std::get<int64_t>(b[3]);
  });
  const size_t all = table.rows.size();
  if (options.limit != 0) table.rows.resize(std::min(options.limit, all));
  report_parts::noteRest(table, all);
  if (all == 0) table.note = "no rank has kernels";
  return table;
}

ReportTable clockTable(const JobReportOptions& options) {
  ReportTable table{"rank_clocks",
                    "Clocks: events of two ranks are in the order of their times if further apart",
                    {{"ranks", "rank", Q::kText},
                     {"other_ranks", "and rank", Q::kText},
                     {"apart_ns", "further apart than", Q::kNs}},
                    {},
                    {}};
  for (const ClockPair& pair : options.clock_pairs) {
    if (options.limit != 0 && table.rows.size() == options.limit) break;
    table.rows.push_back({pair.ranks, pair.other_ranks, count(pair.apart_ns)});
  }
  report_parts::noteRest(table, options.clock_pairs.size());
  return table;
}

}  // namespace

RankRun RankRun::of(const Trace& trace, std::string file, uint32_t rank) {
  return {std::move(file), rank, DiffRun::of(trace, false)};
}

std::vector<ReportTable> jobReport(std::vector<RankRun> ranks, const JobReportOptions& options) {
  if (ranks.empty()) return {};
  const Job job(std::move(ranks));
  std::vector<ReportTable> tables = {rankTable(job, options), spreadTable(job),
                                     kernelTable(job, options)};
  if (!options.clock_pairs.empty()) tables.push_back(clockTable(options));
  return tables;
}

}  // namespace tracesmith
