// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/text/race_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tracesmith/base/human_units.hpp"

namespace tracesmith {

using races::AllocationKind;
using races::Conflict;
using races::Grade;
using races::Race;
using races::RaceGroup;
using races::RaceVerdict;
using races::RecordedProgram;
using races::RecordedStep;
using races::Step;
using races::StepId;
using races::StepKind;
using races::Verdict;

namespace {

bool isHost(const Step& step) { return !races::isOfStream(step.kind); }

std::string counted(uint64_t n, std::string_view what) {
  return fmt::format("{} {}{}", formatCount(n), what,
                     n == 1                 ? ""
                     : what.ends_with("ch") ? "es"
                                            : "s");
}

std::string labelOf(const RecordedProgram& of, StepId id) {
  return printable(of.labels[of.program.step(id).label]);
}

/// "launch 3 of vadd", "the copy of command 17".
std::string nameOf(const RecordedProgram& of, StepId id) {
  const races::RecordedStep& recorded_step = of.steps[id];
  if (recorded_step.launch > 0)
    return fmt::format("launch {} of {}", recorded_step.launch, labelOf(of, id));
  return fmt::format("the {} of command {}", labelOf(of, id), recorded_step.sequence);
}

/// "in queue 1", "by the host's thread 4711".
std::string placeOf(const RecordedProgram& of, StepId id) {
  const Step& step = of.program.step(id);
  return isHost(step) ? fmt::format("by the host's thread {}", of.threads[step.thread])
                      : fmt::format("in queue {}", step.stream);
}

/// "buffer 2".
std::string memoryName(const RecordedProgram& of, uint32_t allocation) {
  const races::RecordedAllocation& a = of.allocations[allocation];
  switch (a.kind) {
    case AllocationKind::kHostMemory:
      return "the host's memory";
    case AllocationKind::kBuffer:
      return fmt::format("buffer {}", a.number);
    case AllocationKind::kImage:
      return fmt::format("image {}", a.number);
    case AllocationKind::kShared:
      return fmt::format("shared memory {}", a.number);
  }
  return "";
}

/// "buffer 2 of 4,096 bytes".
std::string memoryOf(const RecordedProgram& of, uint32_t allocation) {
  const races::RecordedAllocation& a = of.allocations[allocation];
  const std::string name = memoryName(of, allocation);
  if (a.kind == AllocationKind::kHostMemory) return name;
  return fmt::format("{} of {}", name,
                     counted(a.bytes, a.kind == AllocationKind::kImage ? "pixel" : "byte"));
}

std::string rangeOf(const RecordedProgram& of, const Race& race) {
  const races::RecordedAllocation& a = of.allocations[race.allocation];
  const std::string_view unit = a.kind == AllocationKind::kImage ? "pixel" : "byte";
  if (race.begin == 0 && race.bytes == a.bytes) return fmt::format("all {}s", unit);
  const std::string range = a.kind == AllocationKind::kHostMemory
                                ? fmt::format("{}s {:#x} to {:#x}", unit, race.begin, race.end - 1)
                                : fmt::format("{}s {} to {}", unit, race.begin, race.end - 1);
  if (race.bytes == race.end - race.begin) return range;
  return fmt::format("{} in {}", counted(race.bytes, unit), range);
}

std::string_view verb(bool writes) { return writes ? "writes" : "reads"; }
bool firstWrites(const Race& race) { return race.conflict != Conflict::kReadWrite; }
bool secondWrites(const Race& race) { return race.conflict != Conflict::kWriteRead; }

/// "likely write-read race".
std::string raceKind(const Race& race) {
  return fmt::format("{} {} race", races::toString(race.grade), races::toString(race.conflict));
}

/// "all bytes of buffer 1 of 4,096 bytes, 10 times".
std::string raceMemory(const RecordedProgram& of, const RaceGroup& group) {
  const std::string times = group.count == 1
                                ? ""
                                : fmt::format(", {} times{}", formatCount(group.count),
                                              group.same_bytes ? "" : ", not always these");
  return rangeOf(of, group.race) + " of " + memoryOf(of, group.race.allocation) + times;
}

/// "launch 1 of fill_in in queue 0 writes it".
std::string useText(const RecordedProgram& of, const Race& race, bool first) {
  const StepId id = first ? race.first : race.second;
  return fmt::format("{} {} {} it", nameOf(of, id), placeOf(of, id),
                     verb(first ? firstWrites(race) : secondWrites(race)));
}

std::string missingText(const Race& race) {
  return fmt::format(
      "nothing makes the second wait for the first{}",
      race.across_threads ? ", unless the threads that call them wait for each other" : "");
}

/// The verdict as a sentence.
std::string verdictText(const RecordedProgram& of, const Race& race, const RaceVerdict& v) {
  std::string text;
  switch (v.verdict) {
    case Verdict::kConfirmed: {
      const races::RaceDifference& d = *v.difference;
      const std::string memory =
          d.allocation == races::kNone ? "memory" : memoryName(of, d.allocation);
      std::string what = fmt::format("{} holds different bytes after both", memory);
      if (d.sequence) {
        std::string who = fmt::format("command {}", *d.sequence);
        for (const StepId id : {race.first, race.second}) {
          if (of.steps[id].sequence == *d.sequence) who = nameOf(of, id);
        }
        what = fmt::format("{} {} different bytes {} {}", who, d.is_read_back ? "shows" : "leaves",
                           d.is_read_back ? "of" : "in", memory);
      }
      text = fmt::format("Confirmed: in the opposite order {}: ", what);
      text += d.exact ? fmt::format("{} of {}, the first is byte {}", formatCount(d.differing),
                                    counted(d.bytes, "byte"), d.first_byte)
                      : fmt::format("the first is in the MiB from byte {}", d.first_byte);
      if (v.read_backs > 0) {
        text +=
            fmt::format("; {} of {} differ{}", v.read_backs_differing,
                        counted(v.read_backs, "read-back"), v.read_backs_differing == 1 ? "s" : "");
      }
      break;
    }
    case Verdict::kNoDifference:
      text = "No difference seen: both orders leave the same bytes, with these data";
      if (v.read_backs > 0) {
        text += fmt::format("; {} equal", counted(v.read_backs, "read-back"));
      }
      break;
    case Verdict::kUndecided:
      text = "Undecided: " + printable(v.reason);
      break;
    case Verdict::kNotTried:
      text = "Not tried: " + printable(v.reason);
      break;
  }
  if (v.moved_along > 0) {
    text += fmt::format(" ({} that must stay in order with them moved as well)",
                        counted(v.moved_along, "command"));
  }
  if (v.problems > 0) {
    text += fmt::format(" ({} could not be repeated as recorded)", counted(v.problems, "call"));
  }
  return text + ".";
}

/// "1 confirmed, 2 not tried: 7 replays on DEVICE".
std::string verdictCounts(const ProcessRaces& of) {
  std::string text;
  for (const Verdict verdict :
       {Verdict::kConfirmed, Verdict::kNoDifference, Verdict::kUndecided, Verdict::kNotTried}) {
    const auto n = std::count_if(of.verdicts.begin(), of.verdicts.end(),
                                 [&](const RaceVerdict& v) { return v.verdict == verdict; });
    if (n > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, toString(verdict));
  }
  text += fmt::format(" ({}", counted(of.replays, "replay"));
  return text + (of.device.empty() ? ")" : " on " + printable(of.device) + ")");
}

void writeVerdictJson(const RaceVerdict& v, const Race& race, const RecordedProgram& of,
                      JsonWriter& json) {
  json.key("confirm").beginObject().field("verdict", toString(v.verdict));
  json.field("text", verdictText(of, race, v));
  json.key("reason");
  v.reason.empty() ? json.null() : json.value(v.reason);
  json.key("difference");
  if (!v.difference) {
    json.null();
  } else {
    const races::RaceDifference& d = *v.difference;
    const auto left = std::find_if(of.steps.begin(), of.steps.end(), [&](const RecordedStep& step) {
      return d.sequence && step.sequence == *d.sequence;
    });
    json.beginObject().field("in", d.is_read_back ? "read-back" : "memory");
    json.key("command");
    d.sequence ? json.value(*d.sequence) : json.null();
    json.key("launch");
    left != of.steps.end() && left->launch > 0 ? json.value(left->launch) : json.null();
    json.key("memory");
    d.allocation == races::kNone ? json.null() : json.value(memoryName(of, d.allocation));
    json.field("exact", d.exact).field("first_byte", d.first_byte);
    json.key("differing_bytes");
    d.exact ? json.value(d.differing) : json.null();
    json.endObject();
  }
  json.field("read_backs", v.read_backs)
      .field("read_backs_differing", v.read_backs_differing)
      .field("moved_along", v.moved_along)
      .field("problems", v.problems)
      .endObject();
}

}  // namespace

std::string fixOf(const RecordedProgram& of, const Race& race) {
  const Step& first = of.program.step(race.first);
  const Step& second = of.program.step(race.second);
  if (isHost(first)) {
    return fmt::format("Let thread {} start {} only after thread {} has signalled the end of {}.",
                       of.threads[second.thread], nameOf(of, race.second), of.threads[first.thread],
                       nameOf(of, race.first));
  }
  if (isHost(second)) {
    return fmt::format("Let the host wait for the event of {} {}, or for that queue, before {}.",
                       nameOf(of, race.first), placeOf(of, race.first), nameOf(of, race.second));
  }
  const std::string_view barrier =
      first.stream == second.stream ? ", or put a barrier between them" : "";
  return fmt::format("Let {} {} wait for the event of {} {}{}.", nameOf(of, race.second),
                     placeOf(of, race.second), nameOf(of, race.first), placeOf(of, race.first),
                     barrier);
}

void writeRacesText(const ProcessRaces& of, size_t limit, bool guesses_shown,
                    const TerminalStyle& style, Output& out) {
  const RecordedProgram& recorded = of.recorded;
  const auto line = [&](const std::string& text) {
    out.write(text);
    out.put('\n');
  };
  const size_t groups = of.report.groups.size();
  line(style.bold(fmt::format(
      "{} of {} {}: {}", counted(of.report.races, "race"), counted(recorded.launches, "launch"),
      fmt::format("(process {})", of.pid),
      groups == 0 ? std::string("no missing waits found in the recording")
                  : fmt::format("{} of the same kernels and memory", counted(groups, "group")))));
  if (!of.verdicts.empty()) line(verdictCounts(of));
  const int64_t begin_ns = recorded.steps.empty() ? 0 : recorded.steps[0].start_ns;
  const size_t shown = limit == 0 ? groups : std::min(limit, groups);
  for (size_t i = 0; i < shown; ++i) {
    const RaceGroup& group = of.report.groups[i];
    const Race& race = group.race;
    line("");
    line(fmt::format("{}. {}: {}{}", i + 1, style.bold(raceKind(race)), raceMemory(recorded, group),
                     group.count == 1 ? "" : "; first:"));
    for (const bool first : {true, false}) {
      const RecordedStep& step = recorded.steps[first ? race.first : race.second];
      line(fmt::format("     {}  (command {}, called after {})", useText(recorded, race, first),
                       step.sequence, formatDuration(step.start_ns - begin_ns, style.micro())));
    }
    line(fmt::format("   Missing: {}.", missingText(race)));
    line("   Fix: " + fixOf(recorded, race));
    if (i < of.verdicts.size()) line("   " + verdictText(recorded, race, of.verdicts[i]));
  }
  const auto note = [&](const std::string& text) { line(style.dim(text)); };
  if (groups > 0 || !recorded.guessed.empty()) line("");
  if (shown < groups) {
    note(fmt::format("{} not shown (--limit 0 shows all)", counted(groups - shown, "group")));
  }
  if (!recorded.guessed.empty()) {
    std::string names;
    constexpr size_t kNamed = 5;
    for (size_t i = 0; i < std::min(kNamed, recorded.guessed.size()); ++i) {
      names += (i == 0 ? "" : ", ") + printable(recorded.guessed[i]);
    }
    if (recorded.guessed.size() > kNamed) names += ", ...";
    note(fmt::format("It is not known what {} read and write ({}): their races are only possible{}",
                     counted(recorded.guessed.size(), "kernel"), names,
                     guesses_shown ? "" : " and not shown (--all)"));
  }
  if (recorded.unsupported > 0) {
    note(fmt::format("{} use memory in ways that are not recorded",
                     counted(recorded.unsupported, "call")));
  }
  if (recorded.unknown_events > 0) {
    note(fmt::format("{} for events that nothing in the recording made are left out",
                     counted(recorded.unknown_events, "wait")));
  }
  if (of.report.stalled > 0) {
    note(fmt::format("{} wait for an event that never ended", counted(of.report.stalled, "call")));
  }
}

void writeRacesJson(const ProcessRaces& of, JsonWriter& json) {
  const RecordedProgram& recorded = of.recorded;
  json.beginObject()
      .field("pid", of.pid)
      .field("command", of.command_line)
      .field("launches", recorded.launches)
      .field("races", of.report.races)
      .field("stalled", of.report.stalled)
      .field("unknown_events", recorded.unknown_events)
      .field("unsupported", recorded.unsupported);
  json.key("guessed_kernels").beginArray();
  for (const std::string& name : recorded.guessed) json.value(name);
  json.endArray();
  if (!of.verdicts.empty()) json.field("device", of.device).field("replays", of.replays);
  json.key("groups").beginArray();
  for (size_t i = 0; i < of.report.groups.size(); ++i) {
    const RaceGroup& group = of.report.groups[i];
    const Race& race = group.race;
    const races::RecordedAllocation& memory = recorded.allocations[race.allocation];
    static constexpr const char* kKinds[] = {"host", "buffer", "image", "shared"};
    json.beginObject()
        .field("grade", races::toString(race.grade))
        .field("conflict", races::toString(race.conflict))
        .field("count", group.count)
        .field("same_bytes", group.same_bytes)
        .field("across_threads", race.across_threads)
        .field("text", raceKind(race) + ": " + raceMemory(recorded, group))
        .field("missing", missingText(race));
    json.key("memory")
        .beginObject()
        .field("name", memoryName(recorded, race.allocation))
        .field("kind", kKinds[static_cast<size_t>(memory.kind)])
        .field("number", memory.number)
        .field("handle", memory.handle)
        .field("bytes", memory.bytes)
        .field("made_by_command", memory.sequence)
        .endObject();
    json.field("begin", race.begin).field("end", race.end).field("bytes", race.bytes);
    for (const bool first : {true, false}) {
      const StepId id = first ? race.first : race.second;
      const Step& step = recorded.program.step(id);
      json.key(first ? "first" : "second")
          .beginObject()
          .field("name", recorded.labels[step.label])
          .field("command", recorded.steps[id].sequence)
          .field("start_ns", recorded.steps[id].start_ns)
          .field("thread", recorded.threads[step.thread])
          .field("writes", first ? firstWrites(race) : secondWrites(race))
          .field("text", useText(recorded, race, first));
      json.key("launch");
      recorded.steps[id].launch > 0 ? json.value(recorded.steps[id].launch) : json.null();
      json.key("queue");
      isHost(step) ? json.null() : json.value(step.stream);
      json.endObject();
    }
    json.field("fix", fixOf(recorded, race));
    if (i < of.verdicts.size()) writeVerdictJson(of.verdicts[i], race, recorded, json);
    json.endObject();
  }
  json.endArray().endObject();
}

}  // namespace tracesmith
