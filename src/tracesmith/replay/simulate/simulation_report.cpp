// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/simulate/simulation_report.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "tracesmith/replay/check/replay_report.hpp"

namespace tracesmith {

namespace {

using Q = Quantity;

/// The columns of an executed replay, with another time.
ReportTable totalsTable(uint64_t simulated, uint64_t launches, uint64_t skipped, int64_t virtual_ns,
                        int64_t recorded_ns) {
  ReportTable table{"replay",
                    "Simulated: nothing was executed or compared",
                    {{"executed", "executed", Q::kCount},
                     {"simulated", "simulated", Q::kCount},
                     {"launches", "launches", Q::kCount},
                     {"skipped", "skipped", Q::kCount},
                     {"virtual_ns", "virtual time", Q::kNs},
                     {"recorded_ns", "recorded", Q::kNs}},
                    {},
                    {}};
  table.rows.push_back(
      {count(0), count(simulated), count(launches), count(skipped), virtual_ns, recorded_ns});
  return table;
}

ReportTable readBacksTable() {
  ReportTable table{"read_backs",
                    "Read-backs compared with the recording",
                    {{"compared", "compared", Q::kCount}},
                    {},
                    {}};
  table.rows.push_back({count(0)});
  return table;
}

ReportTable workTable() {
  return {"device_work",
          "Device work on the virtual clock",
          {{"what", "what", Q::kText},
           {"simulated", "simulated", Q::kCount},
           {"unknown", "of unknown duration", Q::kCount},
           {"total_ns", "durations", Q::kNs}},
          {},
          {}};
}

}  // namespace

std::vector<ReportTable> simulationReport(const ReplayPlan& plan, const PlanSimulation& simulation,
                                          const StepDurations& durations) {
  const RunResult& run = simulation.run;
  std::vector<ReportTable> tables = {
      totalsTable(run.simulated, run.launches, run.skipped, run.duration_ns, recordedNs(plan)),
      readBacksTable()};
  ReportTable work = workTable();
  uint64_t unknown = 0;
  for (const auto& [kind, w] : simulation.work) {
    work.rows.push_back({commandName(kind), count(w.count), count(w.unknown), w.total_ns});
    unknown += w.unknown;
  }
  work.note =
      "durations are those of the trace; host calls take no time, and queues do not slow each "
      "other down";
  if (!work.rows.empty()) tables.push_back(std::move(work));
  std::vector<std::pair<std::string, std::string>> notes;
  if (unknown != 0) {
    notes.emplace_back(
        "durations",
        fmt::format("{} commands took no time, because their duration is not in the trace{}{}",
                    unknown, durations.why_none.empty() ? "" : ": ", durations.why_none));
  }
  if (durations.contradicted != 0) {
    notes.emplace_back("durations", fmt::format("recording and trace disagree on {} calls",
                                                durations.contradicted));
  }
  for (const StepProblem& p : run.problems) notes.emplace_back(stepName(plan, p.step), p.text);
  for (const PlanNote& note : plan.notes())
    notes.emplace_back(stepName(plan, note.step), note.text);
  if (!notes.empty()) tables.push_back(notesTable(notes));
  return tables;
}

std::vector<ReportTable> simulationReport(const TraceSimulation& simulation) {
  struct Total {
    std::string_view what;
    uint64_t count = 0;
    int64_t ns = 0;
  };
  std::array<Total, 3> totals = {Total{"kernel"}, Total{"copy"}, Total{"fill"}};
  for (const EmulatedOp& op : simulation.graph.ops) {
    Total& total = totals[op.table == TableId::kCopy ? 1 : op.table == TableId::kFill ? 2 : 0];
    ++total.count;
    total.ns = endOf(total.ns, lengthOf(op.begin_ns, op.end_ns));
  }
  std::vector<ReportTable> tables = {totalsTable(simulation.graph.ops.size(), totals[0].count, 0,
                                                 simulation.virtual_ns, simulation.recorded_ns),
                                     readBacksTable()};
  ReportTable work = workTable();
  for (const Total& total : totals) {
    if (total.count != 0) {
      work.rows.push_back({std::string(total.what), count(total.count), count(0), total.ns});
    }
  }
  work.note = "there is no recording: the trace's own operations, timed by the model of `whatif`";
  tables.push_back(std::move(work));
  std::vector<std::pair<std::string, std::string>> notes;
  if (simulation.unmatched() != 0) {
    notes.emplace_back("launches",
                       fmt::format("{} of {} operations have no launch in the trace: what they "
                                   "waited for is unknown, and they start at their recorded time",
                                   simulation.unmatched(), simulation.graph.ops.size()));
  }
  if (simulation.graph.facts.left_out != 0) {
    notes.emplace_back("times",
                       fmt::format("{} operations are left out: their times are impossible",
                                   simulation.graph.facts.left_out));
  }
  if (!notes.empty()) tables.push_back(notesTable(notes));
  return tables;
}

}  // namespace tracesmith
