// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/check/race_search.hpp"

#include <span>

#include "tracesmith/base/cancellation.hpp"

namespace tracesmith {
namespace {

Status confirm(RecordingReader& reader, const Bytes& commands, const RaceSearch& search,
               ProcessRaces& of) {
  TS_TRY(const ReplayPlan plan, ReplayPlan::make(commands));
  std::span<const races::RaceGroup> groups = of.report.groups;
  if (search.most_confirmed != 0 && search.most_confirmed < groups.size()) {
    groups = groups.first(search.most_confirmed);
  }
  RaceTrials trials = tryRaces(plan, reader, of.recorded, groups, *search.confirm);
  of.verdicts = std::move(trials.verdicts);
  of.replays = trials.replays;
  of.device = std::move(trials.device);
  return checkCancelled();
}

}  // namespace

Result<RecordingReader> openRecordingOf(const std::string& path) {
  TS_TRY(RecordingReader reader, RecordingReader::open(path));
  if (reader.path() != path) TS_CHECK_OK(checkSameSession(reader, path));
  return reader;
}

Result<std::vector<ProcessRaces>> racesOf(RecordingReader& reader, const RaceSearch& search) {
  std::vector<ProcessRaces> found;
  for (const recording::Process& process : reader.processes()) {
    TS_CHECK_OK(checkCancelled());
    TS_TRY(const Bytes commands, reader.commands(process.number));
    ProcessRaces& of = found.emplace_back();
    of.pid = process.pid;
    of.command_line = process.command_line;
    of.recorded = races::programOfRecording(
        commands, [&](const recording::Payload& payload) { return reader.content(payload); });
    of.report = races::findRaces(of.recorded.program, search.least);
    if (search.confirm && !of.report.groups.empty()) {
      TS_CHECK_OK(confirm(reader, commands, search, of));
    }
  }
  return found;
}

}  // namespace tracesmith
