// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/stragglers/straggler_report.hpp"

#include <fmt/format.h>

#include "tracesmith/analysis/report/report_parts.hpp"

namespace tracesmith {
namespace {

using Q = Quantity;
using report_parts::note;
using report_parts::shareOf;

std::string rankNames(const StragglerReport& report, const Straggler& s) {
  constexpr size_t kMostNamed = 8;
  std::string names;
  for (size_t i = 0; i < s.ranks.size() && i < kMostNamed; ++i) {
    names += (i == 0                    ? ""
              : i + 1 == s.ranks.size() ? " or "
                                        : ", ") +
             report.timeline.labels[s.ranks[i]];
  }
  if (s.ranks.size() > kMostNamed)
    names += fmt::format(" or {} others", s.ranks.size() - kMostNamed);
  return names;
}

ReportTable stragglersTable(const StragglerReport& report) {
  ReportTable table{"stragglers",
                    "Stragglers: what others wait for",
                    {{"rank", "rank", Q::kText},
                     {"kind", "kind", Q::kText},
                     {"gain_ns", "job shorter by", Q::kNs},
                     {"gain_share", "share", Q::kShare},
                     {"excess_ns", "more each step", Q::kNs, 1},
                     {"excess_low_ns", "from", Q::kNs, 3},
                     {"excess_high_ns", "to", Q::kNs, 3},
                     {"slowness", "times as slow", Q::kNumber, 2},
                     {"since_step", "since step", Q::kCount, 2},
                     {"evidence", "evidence", Q::kText}},
                    {},
                    {}};
  if (!report.problem.empty()) {
    note(table, "nothing can be said: " + report.problem);
    return table;
  }
  for (const Straggler& s : report.stragglers) {
    const bool is_link = s.kind == StragglerKind::kSlowLink;
    const bool has_slowness =
        is_link || s.kind == StragglerKind::kSlowDevice || s.kind == StragglerKind::kMoreWork;
    const auto own = [&](int64_t ns) { return is_link ? ReportValue() : ReportValue(ns); };
    table.rows.push_back({rankNames(report, s), std::string(toString(s.kind)), s.gain_ns,
                          ReportValue(s.gain_share), own(s.excess_ns), own(s.excess_low_ns),
                          own(s.excess_high_ns),
                          has_slowness ? ReportValue(s.slowness) : ReportValue(),
                          s.since ? ReportValue(int64_t{*s.since}) : ReportValue(), s.evidence});
  }
  const std::string basis = fmt::format("{} ranks over {} steps, by what they communicate",
                                        report.timeline.ranks.size(), report.steps.count);
  note(table,
       table.rows.empty()
           ? "no rank and no connection takes longer than others by more than chance: " + basis
           : "the job would be shorter by so much if this were as in a typical rank of the same "
             "role: " +
                 basis);
  if (report.timeline.left_out > 0) {
    note(table, fmt::format("{} operations have no partner in the trace, and are left out",
                            report.timeline.left_out));
  }
  if (report.timeline.without_start > 0) {
    note(table, fmt::format("of {} operations the trace does not say when they started; they are "
                            "taken to have started when the typical rank did",
                            report.timeline.without_start));
  }
  return table;
}

ReportTable jobTimeTable(const StragglerReport& report) {
  ReportTable table{"job_time",
                    "What the job's length consists of",
                    {{"what", "", Q::kText}, {"ns", "time", Q::kNs}, {"share", "share", Q::kShare}},
                    {},
                    {}};
  const auto add = [&](const std::string& what, int64_t ns) {
    table.rows.push_back({what, ns, shareOf(ns, report.length_ns)});
  };
  std::vector<std::pair<int64_t, uint32_t>> ranks;
  for (uint32_t r = 0; r < report.critical_ns.size(); ++r)
    ranks.emplace_back(report.critical_ns[r], r);
  std::sort(ranks.rbegin(), ranks.rend());
  constexpr size_t kShown = 8;
  int64_t others = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i < kShown) {
      add("work of rank " + report.timeline.labels[ranks[i].second], ranks[i].first);
    } else {
      others += ranks[i].first;
    }
  }
  if (ranks.size() > kShown)
    add(fmt::format("work of {} other ranks", ranks.size() - kShown), others);
  add("transfers, once all have come", report.transfer_ns);
  note(table,
       "the chain of work and transfers that each waits for the one before it; durations alone, "
       "so the ranks' clocks do not matter");
  return table;
}

}  // namespace

std::vector<ReportTable> stragglerReport(const StragglerReport& report) {
  std::vector<ReportTable> tables{stragglersTable(report)};
  if (report.problem.empty()) tables.push_back(jobTimeTable(report));
  return tables;
}

}  // namespace tracesmith
