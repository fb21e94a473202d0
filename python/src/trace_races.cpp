// SPDX-License-Identifier: Apache-2.0
#include "trace_races.hpp"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/export/text/race_report.hpp"
#include "tracesmith/recording/recording_file.hpp"
#include "tracesmith/replay/check/race_trial.hpp"

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

Status confirm(RecordingReader& reader, const Bytes& commands, const RaceTrialLimits& limits,
               ProcessRaces& of) {
  TS_TRY(const ReplayPlan plan, ReplayPlan::make(commands));
  RaceTrialOptions options;
  options.executor.device = limits.device;
  options.most_replays = limits.replays;
  options.step_limit_s = limits.step_limit_s;
  RaceTrials trials = tryRaces(plan, reader, of.recorded, of.report.groups, options);
  of.verdicts = std::move(trials.verdicts);
  of.replays = trials.replays;
  of.device = std::move(trials.device);
  return checkCancelled();
}

}  // namespace

Result<ReportTables> racesOf(const std::string& path, bool possible,
                             const std::optional<RaceTrialLimits>& limits) {
  TS_TRY(RecordingReader reader, RecordingReader::open(path));
  if (reader.path() != path) TS_CHECK_OK(checkSameSession(reader, path));
  auto found = std::make_shared<Found>();
  for (const recording::Process& process : reader.processes()) {
    TS_CHECK_OK(checkCancelled());
    TS_TRY(const Bytes commands, reader.commands(process.number));
    ProcessRaces& of = found->emplace_back();
    of.pid = process.pid;
    of.command_line = process.command_line;
    of.recorded = races::programOfRecording(
        commands, [&](const recording::Payload& payload) { return reader.content(payload); });
    of.report = races::findRaces(of.recorded.program,
                                 possible ? races::Grade::kPossible : races::Grade::kLikely);
    if (limits && !of.report.groups.empty()) {
      TS_CHECK_OK(confirm(reader, commands, *limits, of));
    }
  }
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
