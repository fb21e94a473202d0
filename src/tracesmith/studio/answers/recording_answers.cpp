// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/answers/recording_answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tracesmith/export/text/race_report.hpp"
#include "tracesmith/replay/check/replay_report.hpp"
#include "tracesmith/replay/plan/kernel_text.hpp"
#include "tracesmith/studio/answers/call_places.hpp"
#include "tracesmith/studio/answers/json_answer.hpp"

namespace tracesmith::studio {
namespace {

using recording::CommandKind;
using recording::ObjectClass;
using recording::ProgramForm;

constexpr size_t kMostPrograms = 200;
constexpr size_t kMostSourceBytes = 4 << 20;

std::string textOf(recording::Text text) { return {text.begin(), text.end()}; }

std::string_view wordOf(ProgramForm form) {
  switch (form) {
    case ProgramForm::kSource:
      return "source";
    case ProgramForm::kBinary:
      return "binary";
    case ProgramForm::kIl:
      return "IL";
    case ProgramForm::kBuiltIn:
      return "built-in kernels";
    case ProgramForm::kLinked:
      return "linked program";
  }
  return "unknown form";
}

/// Launches by program and kernel.
using Kernels = std::map<ObjectIndex, std::map<std::string, uint64_t>>;

Kernels kernelsOf(const ReplayPlan& plan) {
  Kernels out;
  for (uint32_t number = 1; number <= plan.launches(); ++number) {
    const ReplayStep& launch = plan.step(plan.launch(number));
    if (launch.object == 0) continue;
    ++out[plan.object(launch.object).parent][plan.kernelName(launch)];
  }
  return out;
}

/// The command that created a program.
bool creationOf(const ReplayPlan& plan, ObjectIndex program, recording::CreateProgram& out) {
  const StepIndex made_by = plan.object(program).made_by;
  return made_by != kNoStep && plan.step(made_by).kind() == CommandKind::kCreateProgram &&
         decode(plan.step(made_by).fields, out);
}

/// "" unless it is a source that is in the recording.
std::string sourceOf(const StudioRecording& recording, const recording::CreateProgram& program) {
  if (program.form != ProgramForm::kSource) return {};
  const Result<Bytes> bytes = recording.content(program.code);
  return bytes ? std::string(bytes->begin(), bytes->end()) : std::string();
}

void writePrograms(const StudioRecording& recording, JsonWriter& out) {
  const ReplayPlan& plan = recording.plan();
  const Kernels kernels = kernelsOf(plan);
  size_t programs = 0;
  out.key("programs").beginArray();
  for (ObjectIndex i = 1; i < plan.objects().size(); ++i) {
    recording::CreateProgram program;
    if (plan.object(i).object_class != ObjectClass::kProgram) continue;
    if (++programs > kMostPrograms || !creationOf(plan, i, program)) continue;
    const std::string source = sourceOf(recording, program);
    out.beginObject().field("program", i).field("name", plan.objectName(i));
    out.field("form", wordOf(program.form)).field("bytes", program.code.bytes);
    out.field("lines", std::count(source.begin(), source.end(), '\n'));
    out.key("kernels").beginArray();
    if (const auto of = kernels.find(i); of != kernels.end()) {
      for (const auto& [name, launches] : of->second) {
        out.beginObject().field("name", name).field("launches", launches).endObject();
      }
    }
    out.endArray().endObject();
  }
  out.endArray().field("program_count", programs);
}

void writeDevices(const ReplayPlan& plan, JsonWriter& out) {
  out.key("devices").beginArray();
  for (const ReplayStep& step : plan.steps()) {
    recording::Device device;
    if (step.kind() != CommandKind::kDevice || !decode(step.fields, device)) continue;
    out.value(fmt::format("{} ({} {})", textOf(device.name), textOf(device.platform),
                          textOf(device.driver)));
  }
  out.endArray();
}

void writeRecording(const StudioRecording& recording, JsonWriter& out) {
  const ReplayPlan& plan = recording.plan();
  out.field("path", recording.path()).field("pid", recording.process().pid);
  out.field("command", recording.process().command_line);
  out.field("commands", plan.steps().size()).field("launches", plan.launches());
  out.field("recorded_ns", recordedNs(plan));
  writeDevices(plan, out);
  writePrograms(recording, out);
  out.key("warnings").beginArray();
  for (const std::string& warning : recording.warnings()) out.value(warning);
  for (const PlanNote& note : plan.notes()) out.value(stepName(plan, note.step) + " " + note.text);
  out.endArray();
}

/// The recorded call of a step of a race.
RecordedCall callOf(const ProcessRaces& of, races::StepId id) {
  const races::RecordedStep& step = of.recorded.steps[id];
  const uint32_t thread = of.recorded.program.step(id).thread;
  RecordedCall out{of.pid, of.recorded.threads[thread], step.start_ns, INT64_MAX,
                   step.kind == CommandKind::kLaunch};
  for (races::StepId next = id + 1; next < of.recorded.program.size(); ++next) {
    if (of.recorded.program.step(next).thread != thread) continue;
    if (of.recorded.steps[next].start_ns <= step.start_ns) continue;
    out.next_ns = of.recorded.steps[next].start_ns;
    break;
  }
  return out;
}

}  // namespace

std::string recordingAnswer(const StudioTrace& of) {
  const Result<const StudioRecording*> recording = of.recording();
  return jsonAnswer([&](JsonWriter& out) {
    out.beginObject();
    if (recording) {
      writeRecording(**recording, out);
    } else {
      out.key("path").null();
      const bool none = recording.error().code == ErrorCode::kNotFound;
      out.field("why", none ? std::string() : recording.error().toString());
    }
    out.endObject();
  });
}

Result<std::string> programAnswer(const StudioTrace& of, const QueryValues& values) {
  TS_TRY(const StudioRecording* recording, of.recording());
  const ReplayPlan& plan = recording->plan();
  TS_TRY(const uint64_t number, values.needNumber("program"));
  recording::CreateProgram program;
  if (number >= plan.objects().size() ||
      !creationOf(plan, static_cast<ObjectIndex>(number), program)) {
    return fail(ErrorCode::kNotFound, "there is no such program", std::to_string(number));
  }
  std::string options = textOf(program.options);
  for (const ReplayStep& step : plan.steps()) {
    recording::BuildProgram build;
    if (step.kind() != CommandKind::kBuildProgram || step.object != number) continue;
    if (decode(step.fields, build)) options = textOf(build.options);
  }
  std::string source = sourceOf(*recording, program);
  if (const auto kernel = values.text("kernel"); kernel && source.size() <= kMostSourceBytes) {
    source = kernelText(source, *kernel);
  }
  return jsonAnswer([&](JsonWriter& out) {
    out.beginObject().field("name", plan.objectName(static_cast<ObjectIndex>(number)));
    out.field("form", wordOf(program.form)).field("options", options);
    out.field("source", std::string_view(source).substr(0, kMostSourceBytes));
    out.field("cut", source.size() > kMostSourceBytes).endObject();
  });
}

Result<std::string> racesAnswer(const StudioTrace& of, const QueryValues& values) {
  TS_TRY(const StudioRecording* recording, of.recording());
  TS_TRY(const std::vector<ProcessRaces>* found, recording->races(values.text("all") == "1"));
  std::vector<RecordedCall> calls;
  for (const ProcessRaces& process : *found) {
    for (const races::RaceGroup& group : process.report.groups) {
      calls.push_back(callOf(process, group.race.first));
      calls.push_back(callOf(process, group.race.second));
    }
  }
  const std::vector<CallPlace> places = placesOf(of, calls);
  return jsonAnswer([&](JsonWriter& out) {
    out.beginObject().key("processes").beginArray();
    for (const ProcessRaces& process : *found) writeRacesJson(process, out);
    out.endArray().key("places").beginArray();
    for (size_t i = 0; i < calls.size(); ++i) writePlace(of, calls[i], places[i], out);
    out.endArray().endObject();
  });
}

Result<std::string> launchPlaceAnswer(const StudioTrace& of, const QueryValues& values) {
  TS_TRY(const StudioRecording* recording, of.recording());
  TS_TRY(const uint64_t number, values.needNumber("number", UINT32_MAX));
  const StepIndex step = recording->plan().launch(static_cast<uint32_t>(number));
  if (step == kNoStep) {
    return fail(ErrorCode::kNotFound, "there is no such launch", std::to_string(number));
  }
  const RecordedCall call = callOfStep(*recording, step);
  const std::vector<CallPlace> places = placesOf(of, std::span(&call, 1));
  return jsonAnswer([&](JsonWriter& out) { writePlace(of, call, places[0], out); });
}

}  // namespace tracesmith::studio
