// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/race_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tracesmith/export/human_units.hpp"

namespace tracesmith {

using races::AllocationKind;
using races::Conflict;
using races::Grade;
using races::Race;
using races::RaceGroup;
using races::RecordedProgram;
using races::Step;
using races::StepId;
using races::StepKind;

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

/// "launch 3 of vadd", "the copy that is command 17".
std::string nameOf(const RecordedProgram& of, StepId id) {
  const races::RecordedStep& told = of.steps[id];
  if (told.launch > 0) return fmt::format("launch {} of {}", told.launch, labelOf(of, id));
  return fmt::format("the {} of command {}", labelOf(of, id), told.sequence);
}

/// "in queue 2", "by the host's thread 4711".
std::string placeOf(const RecordedProgram& of, StepId id) {
  const Step& step = of.program.step(id);
  return isHost(step) ? fmt::format("by the host's thread {}", of.threads[step.thread])
                      : fmt::format("in queue {}", step.stream + 1);
}

std::string memoryOf(const RecordedProgram& of, uint32_t allocation) {
  const races::RecordedAllocation& a = of.allocations[allocation];
  switch (a.kind) {
    case AllocationKind::kHostMemory:
      return "the host's memory";
    case AllocationKind::kBuffer:
      return fmt::format("buffer {} of {}", a.number, counted(a.bytes, "byte"));
    case AllocationKind::kImage:
      return fmt::format("image {} of {}", a.number, counted(a.bytes, "pixel"));
    case AllocationKind::kShared:
      return fmt::format("shared memory {} of {}", a.number, counted(a.bytes, "byte"));
  }
  return "";
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

}  // namespace

std::string fixOf(const RecordedProgram& of, const Race& race) {
  const Step& first = of.program.step(race.first);
  const Step& second = of.program.step(race.second);
  if (isHost(first)) {
    return fmt::format("Let thread {} go on to {} only when thread {} has told it that {} is over.",
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
      groups == 0 ? std::string("nothing that is recorded lacks a wait")
                  : fmt::format("{} of the same kernels and memory", counted(groups, "group")))));
  const int64_t begin_ns = recorded.steps.empty() ? 0 : recorded.steps[0].start_ns;
  const size_t shown = limit == 0 ? groups : std::min(limit, groups);
  for (size_t i = 0; i < shown; ++i) {
    const RaceGroup& group = of.report.groups[i];
    const Race& race = group.race;
    line("");
    line(fmt::format("{}. {}: {} of {}{}", i + 1,
                     style.bold(fmt::format("{} {} race", races::toString(race.grade),
                                            races::toString(race.conflict))),
                     rangeOf(recorded, race), memoryOf(recorded, race.allocation),
                     group.count == 1
                         ? ""
                         : fmt::format(", {} times{}; first:", formatCount(group.count),
                                       group.same_bytes ? "" : ", not always these")));
    for (const bool first : {true, false}) {
      const StepId id = first ? race.first : race.second;
      line(fmt::format("     {} {} {} it  (command {}, called after {})", nameOf(recorded, id),
                       placeOf(recorded, id), verb(first ? firstWrites(race) : secondWrites(race)),
                       recorded.steps[id].sequence,
                       formatDuration(recorded.steps[id].start_ns - begin_ns, style.micro())));
    }
    line(fmt::format(
        "   Missing: nothing makes the second wait for the first{}.",
        race.across_threads ? ", unless the threads that call them wait for each other" : ""));
    line("   Fix: " + fixOf(recorded, race));
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
    note(fmt::format("What {} read and write is not known ({}): their races are only possible{}",
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
  json.key("groups").beginArray();
  for (const RaceGroup& group : of.report.groups) {
    const Race& race = group.race;
    const races::RecordedAllocation& memory = recorded.allocations[race.allocation];
    static constexpr const char* kKinds[] = {"host", "buffer", "image", "shared"};
    json.beginObject()
        .field("grade", races::toString(race.grade))
        .field("conflict", races::toString(race.conflict))
        .field("count", group.count)
        .field("same_bytes", group.same_bytes)
        .field("across_threads", race.across_threads);
    json.key("memory")
        .beginObject()
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
          .field("writes", first ? firstWrites(race) : secondWrites(race));
      json.key("launch");
      recorded.steps[id].launch > 0 ? json.value(recorded.steps[id].launch) : json.null();
      json.key("queue");
      isHost(step) ? json.null() : json.value(step.stream + 1);
      json.endObject();
    }
    json.field("fix", fixOf(recorded, race)).endObject();
  }
  json.endArray().endObject();
}

}  // namespace tracesmith
