// SPDX-License-Identifier: Apache-2.0
#include "trace_races.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "tracesmith/export/text/race_report.hpp"

namespace tracesmith::python {
namespace {

using Found = std::vector<ProcessRaces>;

constexpr size_t kShownGroups = 25;

ReportValue nameOf(const races::RecordedProgram& of, races::StepId step) {
  return of.labels[of.program.step(step).label];
}
ReportValue launchOf(const races::RecordedProgram& of, races::StepId step) {
  return of.steps[step].launch > 0 ? count(of.steps[step].launch) : ReportValue();
}
ReportValue queueOf(const races::RecordedProgram& of, races::StepId step) {
  const races::Step& at = of.program.step(step);
  return races::isOfStream(at.kind) ? count(at.stream) : ReportValue();
}

ReportTable tableOf(const Found& found) {
  static constexpr const char* kKinds[] = {"host", "buffer", "image", "shared"};
  const auto text = [](std::string_view of) { return ReportValue(std::string(of)); };
  ReportTable table{.key = "races",
                    .title = "Races, one row for each pair of commands and each memory object",
                    .columns = {{"pid", "process", Quantity::kCount},
                                {"grade", "grade"},
                                {"conflict", "conflict"},
                                {"count", "count", Quantity::kCount},
                                {"first", "first"},
                                {"first_launch", "launch", Quantity::kCount},
                                {"first_command", "command", Quantity::kCount},
                                {"first_queue", "queue", Quantity::kCount},
                                {"second", "second"},
                                {"second_launch", "launch", Quantity::kCount},
                                {"second_command", "command", Quantity::kCount},
                                {"second_queue", "queue", Quantity::kCount},
                                {"memory", "memory"},
                                {"memory_number", "number", Quantity::kCount},
                                {"begin", "from byte", Quantity::kCount},
                                {"end", "to byte", Quantity::kCount},
                                {"bytes", "bytes", Quantity::kBytes},
                                {"fix", "fix"},
                                {"verdict", "verdict"},
                                {"reason", "reason"}},
                    .rows = {},
                    .note = ""};
  for (const ProcessRaces& of : found) {
    for (size_t i = 0; i < of.report.groups.size(); ++i) {
      const races::RaceGroup& group = of.report.groups[i];
      const races::Race& race = group.race;
      const races::RecordedAllocation& memory = of.recorded.allocations[race.allocation];
      const races::RaceVerdict* const verdict = i < of.verdicts.size() ? &of.verdicts[i] : nullptr;
      table.rows.push_back(
          {count(of.pid),
           text(races::toString(race.grade)),
           text(races::toString(race.conflict)),
           count(group.count),
           nameOf(of.recorded, race.first),
           launchOf(of.recorded, race.first),
           count(of.recorded.steps[race.first].sequence),
           queueOf(of.recorded, race.first),
           nameOf(of.recorded, race.second),
           launchOf(of.recorded, race.second),
           count(of.recorded.steps[race.second].sequence),
           queueOf(of.recorded, race.second),
           text(kKinds[static_cast<size_t>(memory.kind)]),
           count(memory.number),
           count(race.begin),
           count(race.end),
           count(race.bytes),
           fixOf(of.recorded, race),
           verdict ? text(races::toString(verdict->verdict)) : ReportValue(),
           verdict && !verdict->reason.empty() ? ReportValue(verdict->reason) : ReportValue()});
    }
  }
  return table;
}

}  // namespace

Result<ReportTables> racesOf(const std::string& path, bool possible,
                             const std::optional<RaceTrialLimits>& limits) {
  TS_TRY(RecordingReader reader, openRecordingOf(path));
  RaceSearch search;
  if (possible) search.least = races::Grade::kPossible;
  if (limits) {
    search.confirm.emplace();
    search.confirm->executor.device = limits->device;
    search.confirm->most_replays = limits->replays;
    search.confirm->step_limit_s = limits->step_limit_s;
  }
  TS_TRY(Found all, racesOf(reader, search));
  const auto found = std::make_shared<const Found>(std::move(all));
  ReportTable table = tableOf(*found);
  for (const ProcessRaces& of : *found) {
    if (!of.recorded.damaged) continue;
    table.note += fmt::format("{}the last command of process {} is incomplete",
                              table.note.empty() ? "" : "; ", of.pid);
  }
  for (const DataLoss& loss : reader.losses()) {
    table.note += fmt::format("{}{} at offset {}: {}", table.note.empty() ? "" : "; ",
                              reader.path(), loss.offset, loss.reason);
  }
  return ReportTables({std::move(table)},
                      [found, possible](const TerminalStyle& style, Output& out) {
                        for (size_t i = 0; i < found->size(); ++i) {
                          if (i > 0) out.put('\n');
                          writeRacesText((*found)[i], kShownGroups, possible, style, out);
                        }
                      });
}

}  // namespace tracesmith::python
