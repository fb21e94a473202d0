// SPDX-License-Identifier: Apache-2.0
// Rules on what cannot be trusted: results of a program with races, and a trace with losses.
#include <fmt/format.h>

#include <algorithm>

#include "tracesmith/analysis/races/races.hpp"
#include "tracesmith/analysis/races/recorded_program.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/findings/rules.hpp"

namespace tracesmith::findings {
namespace {

/// A smaller part of lost events does not change the numbers much.
constexpr double kManyLost = 0.01;

std::string nameOf(const races::RecordedProgram& recorded, races::StepId step) {
  const uint32_t label = recorded.program.step(step).label;
  const std::string name = label < recorded.labels.size() ? recorded.labels[label] : "a command";
  const uint64_t launch = recorded.steps[step].launch;
  return launch > 0 ? fmt::format("launch {} of {}", launch, name) : name;
}

Finding raceFinding(const Context& context, const races::RecordedProgram& recorded,
                    const races::RaceReport& report, uint32_t pid) {
  const races::Race& race = report.groups.front().race;
  Finding out;
  out.rule = "race";
  out.severity = Severity::kWrong;
  out.title = fmt::format(
      "{} may change results: {} and {} use the same bytes, and nothing orders "
      "them.",
      counted(report.races, "race"), nameOf(recorded, race.first), nameOf(recorded, race.second));
  out.cause = fmt::format("No wait orders the two in process {}. It is a {} race, graded {}.", pid,
                          toString(race.conflict), toString(race.grade));
  out.evidence.rows = report.races;
  out.evidence.text = fmt::format("{} in the recorded commands; these two were enqueued then",
                                  counted(report.races, "race"));
  out.evidence.command = context.command("races", "");
  const int64_t first = recorded.steps[race.first].start_ns;
  const int64_t second = recorded.steps[race.second].start_ns;
  context.setPart(out, std::min(first, second), std::max(first, second));
  out.advice = fmt::format("Let {} wait for {} (an event, or the same in-order queue).",
                           nameOf(recorded, race.second), nameOf(recorded, race.first));
  out.gain = cannotSay("a missing wait makes results wrong, not slow");
  return out;
}

}  // namespace

void findRaces(const Context& context) {
  RecordingReader* reader = context.options.recording;
  if (reader == nullptr) {
    context.notChecked(context.options.why_no_recording.empty()
                           ? "race: no recording of the commands (profile --record)"
                           : "race: " + context.options.why_no_recording);
    return;
  }
  if (reader->processes().empty()) {
    context.notChecked("race: the recording holds no commands");
    return;
  }
  for (const recording::Process& process : reader->processes()) {
    const Result<Bytes> commands = reader->commands(process.number);
    if (!commands) {
      context.notChecked("race: " + commands.error().message);
      continue;
    }
    const races::RecordedProgram recorded = races::programOfRecording(
        *commands, [&](const recording::Payload& payload) { return reader->content(payload); });
    const races::RaceReport report = races::findRaces(recorded.program, races::Grade::kLikely);
    if (report.groups.empty()) continue;
    context.add(raceFinding(context, recorded, report, process.pid));
  }
}

void findLosses(const Context& context) {
  const LossTable& losses = context.trace().loss;
  if (losses.empty()) {
    context.notChecked("events-lost: the trace does not say how many events its source had");
  }
  uint64_t emitted = 0, dropped = 0, rows = 0, most = 0, processes = 0;
  bool all_known = true;
  std::string reason;
  for (size_t i = 0; i < losses.size(); ++i) {
    if (losses.dropped[i] == 0) {
      if (emittedIsKnown(losses, i)) emitted += losses.emitted[i];
      // What importers say: it has no number that a share could be taken of.
      if (losses.reason[i] != StringId::kNone) {
        context.notChecked(fmt::format("events-lost: {}: {}",
                                       context.trace().text(losses.source[i]),
                                       context.trace().text(losses.reason[i])));
      }
      continue;
    }
    const std::string_view source = context.trace().text(losses.source[i]);
    // These tell which processes there were; no time or count rests on them.
    if (source == "process events") {
      processes += losses.dropped[i];
      continue;
    }
    all_known = all_known && emittedIsKnown(losses, i);
    emitted += emittedIsKnown(losses, i) ? losses.emitted[i] : losses.written[i];
    dropped += losses.dropped[i];
    ++rows;
    if (losses.dropped[i] > most) {
      most = losses.dropped[i];
      reason = fmt::format("{} of {}: {}", formatCount(most), source,
                           context.trace().text(losses.reason[i]));
    }
  }
  if (processes > 0) {
    context.notChecked(
        "events-lost: the kernel's events of processes were lost, so a process may "
        "be missing");
  }
  if (dropped == 0) return;
  const double share =
      all_known && emitted > 0 ? static_cast<double>(dropped) / static_cast<double>(emitted) : 1;
  Finding out;
  out.rule = "events-lost";
  out.severity = share >= kManyLost ? Severity::kWrong : Severity::kMinor;
  out.title = all_known
                  ? fmt::format("The trace lacks {} of the recorded events ({}).",
                                formatPercent(share), formatCount(dropped))
                  : fmt::format("The trace lacks {} events, and how many there were is unknown.",
                                formatCount(dropped));
  out.cause = "They were lost during recording; times and counts below lack them. Most: " + reason;
  out.evidence.rows = rows;
  out.evidence.text = counted(rows, "source") + " of events with losses";
  out.evidence.command = context.command("info", "");
  out.advice = "Record again with larger buffers (profile --buffer), or let full buffers wait.";
  out.gain = cannotSay("it is about the trace, not the run");
  context.add(std::move(out));
}

}  // namespace tracesmith::findings
