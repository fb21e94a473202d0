// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/perfetto/perfetto_stacks.hpp"

#include <fmt/format.h>

#include <charconv>

#include "tracesmith/import/perfetto/perfetto_numbers.hpp"

namespace tracesmith::import {
namespace {

namespace pn = perfetto_numbers;
using proto::Field;

std::string_view textOf(const PerfettoSequence::Texts& texts, uint64_t number) {
  const auto it = texts.find(number);
  return it != texts.end() ? std::string_view(it->second) : std::string_view();
}

/// The number in "0x7f…"; 0 for anything else.
uint64_t addressIn(std::string_view name) {
  if (!name.starts_with("0x")) return 0;
  uint64_t address = 0;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + 2, end, address, 16);
  return read.ec == std::errc() && read.ptr == end ? address : 0;
}

}  // namespace

/// The path may be given as a whole or as components.
StringId PerfettoStacks::pathOf(const PerfettoSequence& sequence,
                                const PerfettoSequence::Mapping& mapping) {
  if (mapping.path.size() == 1) {
    return builder_.text(textOf(sequence.mapping_paths, mapping.path.front()));
  }
  std::string path;
  for (const uint64_t part : mapping.path) {
    path += '/';
    path += textOf(sequence.mapping_paths, part);
  }
  return builder_.text(path);
}

/// Undoes changes of TraceSmith's exporter. It moves return addresses into the call, and names
/// frames without a function after their location.
void PerfettoStacks::undoExportChanges(FrameRow& row, std::string_view& function) const {
  std::string_view module = builder_.rows.text(row.module);
  module.remove_prefix(module.rfind('/') + 1);  // npos + 1 is 0
  const auto isPlace = [&] {
    return function == fmt::format("{}+0x{:x}", module, row.module_offset);
  };
  if (!isPlace()) {
    ++row.module_offset;
    row.flags = 0;
  }
  if (isPlace()) function = {};
}

FrameRow PerfettoStacks::frameOf(const PerfettoSequence& sequence,
                                 const PerfettoSequence::Frame& frame) {
  std::string_view function = textOf(sequence.function_names, frame.function);
  FrameRow row;
  const auto mapping = sequence.mappings.find(frame.mapping);
  if (mapping != sequence.mappings.end()) {
    row.module = pathOf(sequence, mapping->second);
    row.module_offset = frame.relative_pc;
    row.build_id = builder_.text(textOf(sequence.build_ids, mapping->second.build_id));
    row.flags = frame_flags::kExact;
    if (first_pass_.ours) undoExportChanges(row, function);
  } else if (first_pass_.ours) {
    row.address = addressIn(function);
    if (row.address != 0) function = {};
    if (frame.kind == pn::interned::frame::kInterpreted) row.module = builder_.text("Python");
  }
  row.function = builder_.text(function);
  row.file = builder_.text(textOf(sequence.source_paths, frame.file));
  row.line = frame.line;
  return row;
}

CallPathId PerfettoStacks::of(PerfettoSequence& sequence, const Field& field) {
  return field.number == pn::event::kCallstackIid ? introduced(sequence, field.value)
                                                  : within(field.bytes);
}

CallPathId PerfettoStacks::introduced(PerfettoSequence& sequence, uint64_t number) {
  const auto it = sequence.callstacks.find(number);
  if (it == sequence.callstacks.end()) return CallPathId::kNone;
  PerfettoSequence::Callstack& stack = it->second;
  if (stack.path != CallPathId::kNone) return stack.path;
  for (const uint64_t id : stack.frames) {
    const auto frame = sequence.frames.find(id);
    if (frame == sequence.frames.end()) continue;
    stack.path = paths_.path(stack.path, paths_.frame(frameOf(sequence, frame->second)));
  }
  return stack.path;
}

/// `bytes`: an InlineCallstack.
CallPathId PerfettoStacks::within(std::string_view bytes) {
  namespace in = pn::event::callstack;
  CallPathId path{};
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number != in::kFrames) return;
    FrameRow row;
    proto::forEachField(f.bytes, [&](const Field& g) {
      if (g.number == in::kFunction) row.function = builder_.text(g.bytes);
      if (g.number == in::kFile) row.file = builder_.text(g.bytes);
      if (g.number == in::kLine) row.line = static_cast<uint32_t>(g.value);
    });
    path = paths_.path(path, paths_.frame(row));
  });
  return path;
}

}  // namespace tracesmith::import
