// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/answers/command_answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/replay/check/replay_report.hpp"
#include "tracesmith/replay/check/typed_difference.hpp"
#include "tracesmith/replay/plan/step_order.hpp"
#include "tracesmith/studio/answers/call_places.hpp"
#include "tracesmith/studio/answers/json_answer.hpp"
#include "tracesmith/studio/tiles/relative_time.hpp"

namespace tracesmith::studio {
namespace {

using recording::ArgumentForm;
using recording::CommandKind;
using recording::ObjectClass;

constexpr uint64_t kMostCommands = 1000;
constexpr uint64_t kMostWaits = 50;

/// "1024 x 1024".
std::string timesText(std::span<const uint64_t> sizes) {
  std::string out;
  for (const uint64_t size : sizes) out += (out.empty() ? "" : " x ") + formatCount(size);
  return out;
}

/// What a command is about, from its fields.
struct CommandFacts {
  std::string name;               ///< of the kernel or object; "" if its object has it
  std::optional<uint64_t> bytes;  ///< that it moves or makes
  std::string shape;              ///< work-items, or pixels
  std::string group;              ///< work-items of a group
};

template <class Command>
void collectFacts(const Command& c, CommandFacts& out) {
  using Given = std::decay_t<Command>;
  if constexpr (std::is_same_v<Given, recording::Launch>) {
    out.shape = timesText(c.global);
    out.group = timesText(c.local);
  } else if constexpr (requires { c.box; }) {
    if (c.box.is_image != 0) {
      out.shape = timesText(c.box.region) + " pixels";
    } else {
      out.bytes = c.box.region[0] * c.box.region[1] * c.box.region[2];
    }
  } else if constexpr (std::is_same_v<Given, recording::Copy>) {
    if (c.to.is_image == 0) out.bytes = c.to.region[0] * c.to.region[1] * c.to.region[2];
    if (c.to.is_image != 0) out.shape = timesText(c.to.region) + " pixels";
  } else if constexpr (std::is_same_v<Given, recording::CreateImage>) {
    out.shape = fmt::format("{} x {} pixels", c.width, std::max<uint64_t>(1, c.height));
  } else if constexpr (std::is_same_v<Given, recording::SetArgument>) {
    out.name = fmt::format("argument {} of ", c.index);
    out.bytes = c.bytes;
  } else if constexpr (std::is_same_v<Given, recording::Device>) {
    out.name.assign(c.name.begin(), c.name.end());
  } else if constexpr (std::is_same_v<Given, recording::Unsupported>) {
    out.name.assign(c.function.begin(), c.function.end());
  } else if constexpr (requires { c.bytes; }) {
    out.bytes = c.bytes;
  }
}

bool namesKernel(CommandKind kind) {
  return kind == CommandKind::kLaunch || kind == CommandKind::kSetArgument ||
         kind == CommandKind::kSetExecInfo || kind == CommandKind::kCreateKernel ||
         kind == CommandKind::kCloneKernel;
}

CommandFacts factsOf(const ReplayPlan& plan, const ReplayStep& step) {
  CommandFacts out;
  recording::withCommand(step.kind(), step.fields, [&](const auto& c) { collectFacts(c, out); });
  if (namesKernel(step.kind()) && step.object != 0) {
    out.name += plan.kernelName(step);
  } else if (step.kind() == CommandKind::kCopy && step.other != 0) {
    out.name = plan.objectName(step.other) + " to " + plan.objectName(step.object);
  } else if (step.object != 0 && out.name.empty()) {
    out.name = plan.objectName(step.object);
  }
  return out;
}

void writeWaits(const ReplayPlan& plan, const ReplayStep& step, JsonWriter& out) {
  out.key("waits").beginArray();
  uint64_t written = 0;
  for (const ObjectIndex event : plan.waitsOf(step)) {
    if (++written > kMostWaits) break;
    const StepIndex made_by = event == 0 ? kNoStep : plan.object(event).made_by;
    if (made_by == kNoStep) {
      out.null();
      continue;
    }
    const ReplayStep& made = plan.step(made_by);
    const bool ends = made.kind() == CommandKind::kDone && made.of != kNoStep;
    out.value(ends ? plan.step(made.of).header.sequence : made.header.sequence);
  }
  out.endArray();
}

void writeCommand(const StudioTrace& of, const ReplayPlan& plan, StepIndex index,
                  const CommandFacts& facts, JsonWriter& out) {
  const ReplayStep& step = plan.step(index);
  const bool launches = step.kind() == CommandKind::kLaunch && step.header.result == 0;
  out.field("step", index).field("sequence", step.header.sequence);
  out.field("kind", commandName(step.kind())).field("name", facts.name);
  out.field("shape", facts.shape).field("group", facts.group).key("bytes");
  facts.bytes ? out.value(*facts.bytes) : out.null();
  out.key("launch");
  launches ? out.value(step.launch) : out.null();
  out.key("queue");
  step.queue != 0 ? out.value(plan.object(step.queue).ordinal) : out.null();
  out.field("thread", step.header.thread).field("result", step.header.result);
  out.field("start_ns", relativeTo(of.rows().zero_ns, step.header.start_ns));
  writeWaits(plan, step, out);
}

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

struct CommandFilter {
  bool all = true;
  bool launches = false;
  std::string text;  // in lower case

  bool takes(const ReplayStep& step) const {
    if (launches) return step.kind() == CommandKind::kLaunch;
    return all || isCommand(step) || hostWaits(step);
  }
  /// Whether the text is in `name`, without regard to case.
  bool matches(std::string_view name) const {
    const auto same = [](char a, char b) { return lower(a) == b; };
    return std::search(name.begin(), name.end(), text.begin(), text.end(), same) != name.end();
  }
};

Result<CommandFilter> filterOf(const QueryValues& values) {
  CommandFilter out;
  const std::string show = values.text("show").value_or("all");
  out.all = show == "all";
  out.launches = show == "launches";
  if (!out.all && !out.launches && show != "commands") {
    return fail(ErrorCode::kInvalidArgument, "must be all, commands or launches", "show");
  }
  out.text = values.text("q").value_or("");
  std::transform(out.text.begin(), out.text.end(), out.text.begin(), lower);
  return out;
}

/// The value of an argument that is no object, as far as its size tells what it may be.
std::string valueText(const recording::SetArgument& argument) {
  const ByteView bytes = argument.value;
  constexpr std::pair<ElementType, ElementType> kTypes[] = {{ElementType::kI8, ElementType::kU8},
                                                            {ElementType::kI16, ElementType::kF16},
                                                            {ElementType::kI32, ElementType::kF32},
                                                            {ElementType::kI64, ElementType::kF64}};
  for (const auto& [integer, other] : kTypes) {
    if (bytes.size() != elementBytes(integer)) continue;
    return fmt::format("{} as {}, {} as {}", elementText(bytes, integer), toString(integer),
                       elementText(bytes, other), toString(other));
  }
  return "";
}

std::string_view formWord(ArgumentForm form) {
  switch (form) {
    case ArgumentForm::kValue:
      return "value";
    case ArgumentForm::kLocal:
      return "local memory";
    case ArgumentForm::kSvm:
      return "shared memory";
    case ArgumentForm::kNull:
      return "null";
  }
  return "";
}

/// The type of an image's values, and how many a pixel has. Numbers from CL/cl.h.
void writeImage(const ReplayPlan& plan, const PlannedObject& object, JsonWriter& out) {
  recording::CreateImage image;
  if (object.made_by == kNoStep || !decode(plan.step(object.made_by).fields, image)) return;
  constexpr std::pair<uint64_t, ElementType> kTypes[] = {
      {0x10D0, ElementType::kI8},  {0x10D1, ElementType::kI16}, {0x10D2, ElementType::kU8},
      {0x10D3, ElementType::kU16}, {0x10D7, ElementType::kI8},  {0x10D8, ElementType::kI16},
      {0x10D9, ElementType::kI32}, {0x10DA, ElementType::kU8},  {0x10DB, ElementType::kU16},
      {0x10DC, ElementType::kU32}, {0x10DD, ElementType::kF16}, {0x10DE, ElementType::kF32}};
  const auto type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& known) {
    return known.first == image.channel_type;
  });
  if (type == std::end(kTypes)) return;
  const uint64_t channels =
      pixelBytes(image.channel_order, image.channel_type) / elementBytes(type->second);
  out.field("type", toString(type->second)).field("width", image.width).field("channels", channels);
}

void writeArguments(const ReplayPlan& plan, const ReplayStep& launch, JsonWriter& out) {
  out.key("arguments").beginArray();
  const std::span<const uint32_t> arguments = plan.listOf(launch);
  for (size_t i = 0; i < arguments.size(); ++i) {
    recording::SetArgument argument;
    out.beginObject().field("index", i);
    if (arguments[i] == kNoStep || !decode(plan.step(arguments[i]).fields, argument)) {
      out.field("form", "never set").endObject();
      continue;
    }
    const ObjectIndex object = plan.step(arguments[i]).other;
    out.field("form", formWord(argument.form)).field("bytes", argument.bytes);
    if (object != 0) {
      out.field("object", plan.objectName(object));
      const PlannedObject& planned = plan.object(object);
      if (planned.object_class == ObjectClass::kMemory) {
        out.field("memory", planned.ordinal).field("memory_bytes", plan.contentBytes(object));
        if (planned.is_image) writeImage(plan, planned, out);
      }
    } else if (argument.form == ArgumentForm::kValue) {
      out.field("value", valueText(argument));
    }
    out.endObject();
  }
  out.endArray();
}

}  // namespace

Result<std::string> commandsAnswer(const StudioTrace& of, const QueryValues& values) {
  TS_TRY(const StudioRecording* recording, of.recording());
  TS_TRY(const CommandFilter filter, filterOf(values));
  TS_TRY(const std::optional<uint64_t> from, values.number("from"));
  TS_TRY(const std::optional<uint64_t> count, values.number("count", kMostCommands));
  const ReplayPlan& plan = recording->plan();
  uint64_t total = 0;
  return jsonAnswer([&](JsonWriter& out) {
    out.beginObject().key("commands").beginArray();
    const uint64_t first = from.value_or(0);
    const uint64_t end = first + count.value_or(200);
    for (StepIndex i = 0; i < plan.steps().size(); ++i) {
      if (!filter.takes(plan.step(i))) continue;
      const bool wanted = total >= first && total < end;
      if (wanted || !filter.text.empty()) {
        const CommandFacts facts = factsOf(plan, plan.step(i));
        const bool taken = filter.text.empty() || filter.matches(facts.name) ||
                           filter.matches(commandName(plan.step(i).kind()));
        if (!taken) continue;
        if (wanted) {
          out.beginObject();
          writeCommand(of, plan, i, facts, out);
          out.endObject();
        }
      }
      ++total;
    }
    out.endArray().field("total", total).endObject();
  });
}

Result<std::string> commandAnswer(const StudioTrace& of, const QueryValues& values) {
  TS_TRY(const StudioRecording* recording, of.recording());
  TS_TRY(const uint64_t number, values.needNumber("step", UINT32_MAX));
  const ReplayPlan& plan = recording->plan();
  if (number >= plan.steps().size()) {
    return fail(ErrorCode::kNotFound, "there is no such command", std::to_string(number));
  }
  const auto index = static_cast<StepIndex>(number);
  const ReplayStep& step = plan.step(index);
  const RecordedCall call = callOfStep(*recording, index);
  const std::vector<CallPlace> places = placesOf(of, std::span(&call, 1));
  return jsonAnswer([&](JsonWriter& out) {
    out.beginObject();
    writeCommand(of, plan, index, factsOf(plan, step), out);
    recording::Launch launch;
    if (step.kind() == CommandKind::kLaunch && decode(step.fields, launch)) {
      out.key("program");
      step.object != 0 ? out.value(plan.object(step.object).parent) : out.null();
      out.field("row", launch.global.empty() ? uint64_t{0} : launch.global[0]);
      writeArguments(plan, step, out);
    }
    out.key("place");
    writePlace(of, call, places[0], out);
    out.endObject();
  });
}

}  // namespace tracesmith::studio
