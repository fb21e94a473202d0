// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/check/replay_report.hpp"

#include <fmt/format.h>

#include <map>

#include "tracesmith/replay/plan/step_order.hpp"

namespace tracesmith {

using namespace recording;

namespace {

using Q = Quantity;

const char* kindName(CommandKind kind) {
  switch (kind) {
#define TS_X(number, Name)   \
  case CommandKind::k##Name: \
    return #Name;
    TS_RECORDED_COMMANDS(TS_X)
#undef TS_X
    case CommandKind::kNone:
      break;
  }
  return "unknown";
}

std::string lowered(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') {
      if (!out.empty()) out += ' ';
      out += static_cast<char>(c - 'A' + 'a');
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

ReportTable notesTable(const std::vector<std::pair<std::string, std::string>>& notes) {
  // "remarks", because in JSON "notes" are those of the tables themselves.
  ReportTable table{
      "remarks", "Remarks", {{"where", "where", Q::kText}, {"what", "what", Q::kText}}, {}, {}};
  for (const auto& [where, what] : notes) table.rows.push_back({where, what});
  return table;
}

std::string commandName(CommandKind kind) { return lowered(kindName(kind)); }

int64_t recordedNs(const ReplayPlan& plan) {
  if (plan.steps().empty()) return 0;
  int64_t last = 0;
  for (const ReplayStep& step : plan.steps()) last = std::max(last, step.header.end_ns);
  return std::max<int64_t>(0, last - plan.step(0).header.start_ns);
}

std::string stepName(const ReplayPlan& plan, StepIndex i) {
  if (i == kNoStep) return "at the end";
  const ReplayStep& step = plan.step(i);
  if (step.kind() == CommandKind::kLaunch) {
    return fmt::format("launch {} ({})", step.launch, plan.kernelName(step));
  }
  std::string name = commandName(step.kind());
  if (step.object != 0) name += " of " + plan.objectName(step.object);
  if (step.launch == 0) return name + " before the first launch";
  return fmt::format("{} after launch {} ({})", name, step.launch,
                     plan.kernelName(plan.step(plan.launch(step.launch))));
}

std::string stepPlace(const ReplayPlan& plan, StepIndex step) {
  return step == kNoStep ? "before its first command" : "at " + stepName(plan, step);
}

std::vector<ReportTable> planReport(const ReplayPlan& plan, const RecordingReader& reader,
                                    const std::vector<bool>& chosen) {
  std::map<CommandKind, uint64_t> kinds;
  uint64_t steps = 0;
  uint64_t launches = 0;
  for (StepIndex i = 0; i < chosen.size(); ++i) {
    if (!chosen[i]) continue;
    const ReplayStep& step = plan.step(i);
    ++steps;
    ++kinds[step.kind()];
    if (step.kind() == CommandKind::kLaunch && step.header.result == 0) ++launches;
  }
  ReportTable commands{"commands",
                       "Commands that would be executed",
                       {{"command", "command", Q::kText}, {"count", "count", Q::kCount}},
                       {},
                       {}};
  for (const auto& [kind, n] : kinds) {
    commands.rows.push_back({commandName(kind), count(n)});
  }
  uint64_t memory_bytes = 0;
  uint64_t memory_objects = 0;
  for (const PlannedObject& object : plan.objects()) {
    if (object.object_class != ObjectClass::kMemory || object.parent != 0) continue;
    memory_bytes += object.bytes;
    ++memory_objects;
  }
  ReportTable totals{"plan",
                     "Nothing was executed",
                     {{"commands", "commands", Q::kCount},
                      {"launches", "launches", Q::kCount},
                      {"recorded_ns", "recorded in", Q::kNs},
                      {"memory_objects", "memory objects", Q::kCount},
                      {"memory_bytes", "bytes", Q::kBytes},
                      {"content_bytes", "content", Q::kBytes}},
                     {},
                     {}};
  totals.rows.push_back({count(steps), count(launches), recordedNs(plan), count(memory_objects),
                         count(memory_bytes), count(reader.contentBytes())});
  std::vector<std::pair<std::string, std::string>> notes;
  for (const PlanNote& note : plan.notes())
    notes.emplace_back(stepName(plan, note.step), note.text);
  std::vector<ReportTable> tables = {totals, commands};
  if (!notes.empty()) tables.push_back(notesTable(notes));
  return tables;
}

namespace {

ReportTable replayTotals(const ReplayPlan& plan, const RunResult& result) {
  ReportTable totals{
      "replay",
      "Executed on " + result.device + (result.same_device ? "" : " (not the recorded device)"),
      {{"executed", "executed", Q::kCount},
       {"launches", "launches", Q::kCount},
       {"failed_alike", "failed alike", Q::kCount},
       {"skipped", "skipped", Q::kCount},
       {"simulated", "simulated", Q::kCount},
       {"duration_ns", "time", Q::kNs},
       {"building_ns", "building", Q::kNs},
       {"recorded_ns", "recorded", Q::kNs}},
      {},
      {}};
  totals.rows.push_back({count(result.executed), count(result.launches), count(result.failed_alike),
                         count(result.skipped), count(result.simulated), result.duration_ns,
                         result.building_ns, recordedNs(plan)});
  return totals;
}

ReportTable readBacksTable(const RunResult& result) {
  ReportTable shown{"read_backs",
                    "Read-backs compared with the recording",
                    {{"compared", "compared", Q::kCount},
                     {"equal", "equal", Q::kCount},
                     {"different", "different", Q::kCount},
                     {"not_comparable", "not recorded", Q::kCount}},
                    {},
                    {}};
  shown.rows.push_back({count(result.shown), count(result.shown_equal),
                        count(result.shown - result.shown_equal), count(result.not_comparable)});
  return shown;
}

ReportTable launchesTable(const RunResult& result) {
  ReportTable launches{"launches",
                       "Launch outputs compared with the recorded hashes",
                       {{"compared", "compared", Q::kCount},
                        {"equal", "equal", Q::kCount},
                        {"different", "different", Q::kCount}},
                       {},
                       {}};
  launches.rows.push_back({count(result.launches_compared), count(result.launches_equal),
                           count(result.launches_compared - result.launches_equal)});
  return launches;
}

ReportTable launchDifferencesTable(const ReplayPlan& plan, const RunResult& result) {
  ReportTable differences{"launch_differences",
                          "Launches whose output differs from the recorded one",
                          {{"launch", "launch", Q::kText},
                           {"memory", "memory", Q::kText},
                           {"byte", "in the MiB from byte", Q::kCount}},
                          {},
                          {}};
  for (const LaunchDifference& d : result.launch_differences) {
    differences.rows.push_back(
        {stepName(plan, d.step), plan.objectName(d.memory), count(d.first_chunk * kChunkBytes)});
  }
  return differences;
}

ReportTable differencesTable(const ReplayPlan& plan, const RunResult& result) {
  ReportTable differences{"differences",
                          "Differences from the recording",
                          {{"what", "what", Q::kText},
                           {"byte", "first byte", Q::kCount},
                           {"differing", "bytes", Q::kCount}},
                          {},
                          {}};
  for (const ShownDifference& d : result.differences) {
    const bool exact = d.first_byte != UINT64_MAX;
    differences.rows.push_back({stepName(plan, d.step),
                                count(exact ? d.first_byte : d.first_chunk * kChunkBytes),
                                exact ? count(d.differing_bytes) : ReportValue(std::monostate{})});
  }
  differences.note =
      "without --keep-outputs a recording has hashes: the first byte is that of the first MiB "
      "that differs";
  return differences;
}

}  // namespace

std::vector<ReportTable> replayReport(const ReplayPlan& plan, const RunResult& result) {
  std::vector<ReportTable> tables = {replayTotals(plan, result), readBacksTable(result)};
  if (result.launches_compared != 0) tables.push_back(launchesTable(result));
  if (!result.launch_differences.empty()) tables.push_back(launchDifferencesTable(plan, result));
  if (!result.differences.empty()) tables.push_back(differencesTable(plan, result));
  std::vector<std::pair<std::string, std::string>> notes;
  for (const StepProblem& p : result.problems) notes.emplace_back(stepName(plan, p.step), p.text);
  if (result.problem_count > result.problems.size()) {
    notes.emplace_back("", fmt::format("{} more", result.problem_count - result.problems.size()));
  }
  for (const PlanNote& note : plan.notes())
    notes.emplace_back(stepName(plan, note.step), note.text);
  if (!notes.empty()) tables.push_back(notesTable(notes));
  return tables;
}

ReportTable dumpsTable(const ReplayPlan& plan, const std::vector<Dump>& dumps) {
  ReportTable table{"dumps",
                    "Contents in the output file",
                    {{"buffer", "buffer", Q::kCount},
                     {"memory", "memory", Q::kText},
                     {"when", "when", Q::kText},
                     {"launch", "launch", Q::kCount},
                     {"type", "type", Q::kText},
                     {"offset", "from byte", Q::kCount},
                     {"bytes", "bytes", Q::kCount}},
                    {},
                    {}};
  uint64_t offset = 0;
  for (const Dump& dump : dumps) {
    const bool at_end = dump.request.launch == 0;
    const char* when = at_end ? "at the end" : dump.request.before ? "before" : "after";
    table.rows.push_back({count(dump.request.memory), plan.objectName(dump.memory),
                          std::string(when),
                          at_end ? ReportValue(std::monostate{}) : count(dump.request.launch),
                          dump.argument_type, count(offset), count(dump.bytes.size())});
    offset += dump.bytes.size();
  }
  return table;
}

std::string divergenceLine(const ReplayPlan& plan, const Divergence& d) {
  const ReplayStep& step = plan.step(d.step);
  const bool launch = step.kind() == CommandKind::kLaunch;
  std::string line = "divergent " + (launch ? plan.kernelName(step) : stepName(plan, d.step));
  if (launch) line += fmt::format(" launch {}", step.launch);
  if (d.argument != UINT32_MAX) line += fmt::format(" argument {}", d.argument);
  if (!d.argument_type.empty()) line += " (" + d.argument_type + ")";
  if (d.memory != 0) line += " " + plan.objectName(d.memory);
  line += fmt::format(": {}: {}", toString(d.cause), d.evidence);
  if (d.difference && d.difference->differing != 0) {
    const TypedDifference& t = *d.difference;
    line += fmt::format("; {} of {} elements differ, the first is {} (byte {}): {} and {}",
                        t.differing, t.elements, t.first_element, t.first_byte, t.one, t.other);
    if (t.most_ulps != 0)
      line += fmt::format(", {} ulp apart, at most {}", t.first_ulps, t.most_ulps);
    if (t.nan_in_one != 0) line += fmt::format(", {} are NaN in one of them", t.nan_in_one);
    if (t.nan_payloads != 0)
      line += fmt::format(", {} are NaN with different bits", t.nan_payloads);
    if (t.zero_signs != 0) line += fmt::format(", {} differ in the sign of zero", t.zero_signs);
  }
  return line;
}

namespace {

ReportTable determinismTotals(const DeterminismReport& report) {
  ReportTable totals{
      "determinism",
      report.device.empty() ? std::string("Nothing was replayed") : "Checked on " + report.device,
      {{"launches", "launches", Q::kCount},
       {"divergent", "divergent", Q::kCount},
       {"runs", "runs of each", Q::kCount},
       {"orders", "legal orders", Q::kCount},
       {"share_found", "found if it differs in", Q::kShare},
       {"read_backs", "read-backs", Q::kCount},
       {"read_backs_equal", "as recorded", Q::kCount}},
      {},
      "a launch that differs in that share of its runs is missed with a probability of 0.0001"};
  totals.rows.push_back({count(report.launches), count(report.divergences.size()),
                         count(report.runs), count(report.orders), report.share_found,
                         count(report.shown), count(report.shown_equal)});
  return totals;
}

ReportTable divergencesTable(const ReplayPlan& plan, const DeterminismReport& report) {
  ReportTable table{"divergences",
                    "Divergent launches, in the order of the recording",
                    {{"kernel", "kernel", Q::kText},
                     {"launch", "launch", Q::kCount},
                     {"argument", "argument", Q::kCount},
                     {"type", "type", Q::kText, 2},
                     {"memory", "memory", Q::kText},
                     {"cause", "cause", Q::kText},
                     {"differing", "elements differ", Q::kCount},
                     {"element", "first", Q::kCount},
                     {"byte", "byte", Q::kCount, 3},
                     {"one", "one", Q::kText},
                     {"other", "other", Q::kText},
                     {"ulps", "ulp", Q::kCount},
                     {"most_ulps", "most ulp", Q::kCount, 1},
                     {"nan_in_one", "NaN in one", Q::kCount, 4},
                     {"evidence", "evidence", Q::kText, 5}},
                    {},
                    {}};
  for (const Divergence& d : report.divergences) {
    const ReplayStep& step = plan.step(d.step);
    const bool launch = step.kind() == CommandKind::kLaunch;
    const ReportValue none = std::monostate{};
    const bool typed = d.difference && d.difference->differing != 0;
    table.rows.push_back(
        {launch ? plan.kernelName(step) : stepName(plan, d.step),
         launch ? count(step.launch) : none, d.argument != UINT32_MAX ? count(d.argument) : none,
         d.argument_type, d.memory != 0 ? plan.objectName(d.memory) : std::string(),
         std::string(toString(d.cause)), typed ? count(d.difference->differing) : none,
         typed ? count(d.difference->first_element) : none,
         typed ? count(d.difference->first_byte) : none, typed ? d.difference->one : std::string(),
         typed ? d.difference->other : std::string(),
         typed && d.difference->first_ulps != 0 ? count(d.difference->first_ulps) : none,
         typed && d.difference->most_ulps != 0 ? count(d.difference->most_ulps) : none,
         typed ? count(d.difference->nan_in_one) : none, d.evidence});
  }
  return table;
}

ReportTable ulpsTable(const ReplayPlan& plan, const DeterminismReport& report) {
  ReportTable ulps{"ulps",
                   "Elements by distance in units in the last place (ulp)",
                   {{"kernel", "kernel", Q::kText},
                    {"launch", "launch", Q::kCount},
                    {"up_to_ulps", "up to ulp", Q::kCount},
                    {"elements", "elements", Q::kCount}},
                   {},
                   {}};
  for (const Divergence& d : report.divergences) {
    if (!d.difference || d.difference->most_ulps == 0) continue;
    for (size_t i = 0; i < d.difference->ulps.size(); ++i) {
      if (d.difference->ulps[i] == 0) continue;
      const bool last = i + 1 == d.difference->ulps.size();
      ulps.rows.push_back({plan.kernelName(plan.step(d.step)), count(plan.step(d.step).launch),
                           count(last ? d.difference->most_ulps : uint64_t{1} << i),
                           count(d.difference->ulps[i])});
    }
  }
  return ulps;
}

}  // namespace

std::vector<ReportTable> determinismReport(const ReplayPlan& plan,
                                           const DeterminismReport& report) {
  std::vector<ReportTable> tables = {determinismTotals(report)};
  if (!report.divergences.empty()) {
    tables.push_back(divergencesTable(plan, report));
    ReportTable ulps = ulpsTable(plan, report);
    if (!ulps.rows.empty()) tables.push_back(std::move(ulps));
  }
  if (!report.notes.empty()) {
    std::vector<std::pair<std::string, std::string>> notes;
    for (const std::string& note : report.notes) notes.emplace_back("", note);
    tables.push_back(notesTable(notes));
  }
  return tables;
}

}  // namespace tracesmith
