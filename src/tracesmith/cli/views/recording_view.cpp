// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/views/recording_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/export/output/json_writer.hpp"

namespace tracesmith::cli {

using namespace recording;  // NOLINT: their words are ours here

namespace {

const char* nameOf(CommandKind kind) {
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

/// Totals of a process's stream.
struct Summary {
  Process process;
  uint64_t commands = 0;
  uint64_t failed = 0;
  uint64_t ranges = 0;
  uint64_t threads = 0;
  std::map<CommandKind, uint64_t> kinds;
  std::map<std::string, uint64_t> unsupported;
  std::vector<std::string> devices;
  bool ended = false;
  std::string end_reason;
};

std::string text(Text t) { return {t.begin(), t.end()}; }

Result<Summary> summarize(RecordingReader& reader, const Process& process) {
  Summary s;
  s.process = process;
  TS_TRY(const Bytes commands, reader.commands(process.number));
  std::set<uint32_t> threads;
  forEachCommand(commands, [&](const CommandHeader& header, ByteView fields) {
    ++s.commands;
    ++s.kinds[header.kind];
    if (header.result != 0) ++s.failed;
    if ((header.flags & command_flags::kAddedByAgent) == 0) threads.insert(header.thread);
    Device device;
    Unsupported unsupported;
    RangeEdge edge;
    End end;
    if (header.kind == CommandKind::kDevice && decode(fields, device)) {
      s.devices.push_back(
          fmt::format("{} ({} {})", text(device.name), text(device.platform), text(device.driver)));
    }
    if (header.kind == CommandKind::kUnsupported && decode(fields, unsupported)) {
      ++s.unsupported[text(unsupported.function)];
    }
    if (header.kind == CommandKind::kRangeEdge && decode(fields, edge)) {
      s.ranges += edge.is_begin != 0 ? 1 : 0;
    }
    if (header.kind == CommandKind::kEnd && decode(fields, end)) {
      s.ended = true;
      s.end_reason = text(end.reason);
    }
    return true;
  });
  s.threads = threads.size();
  return s;
}

std::string endText(const Summary& s) {
  if (!s.ended) return "truncated: its end is missing";
  return s.end_reason.empty() ? "the program ended" : s.end_reason;
}

/// A recording may come from a stranger: escape everything before it reaches a terminal.
void writeText(const Summary& s, Output& out) {
  out.write(fmt::format("\nprocess {} (pid {}): {}\n", s.process.number, s.process.pid,
                        printable(s.process.command_line)));
  for (const std::string& device : s.devices)
    out.write(fmt::format("  device    {}\n", printable(device)));
  out.write(fmt::format("  commands  {} of {} {}, {} failed\n", s.commands, s.threads,
                        s.threads == 1 ? "thread" : "threads", s.failed));
  if (s.ranges > 0) out.write(fmt::format("  ranges    {}\n", s.ranges));
  out.write(fmt::format("  end       {}\n", printable(endText(s))));
  for (const auto& [function, times] : s.unsupported) {
    out.write(fmt::format("  cannot be replayed: {} ({}x)\n", printable(function), times));
  }
  std::vector<std::pair<uint64_t, const char*>> kinds;
  for (const auto& [kind, count] : s.kinds) kinds.emplace_back(count, nameOf(kind));
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [count, name] : kinds) {
    out.write(fmt::format("  {:>10}  {}\n", count, name));
  }
}

void writeJson(const Summary& s, JsonWriter& json) {
  json.beginObject();
  json.field("number", s.process.number).field("pid", s.process.pid);
  json.field("command_line", s.process.command_line);
  json.field("commands", s.commands).field("threads", s.threads).field("failed", s.failed);
  json.field("ranges", s.ranges).field("ended", s.ended).field("end_reason", s.end_reason);
  json.key("devices").beginArray();
  for (const std::string& device : s.devices) json.value(device);
  json.endArray();
  json.key("kinds").beginObject();
  for (const auto& [kind, count] : s.kinds) json.field(nameOf(kind), count);
  json.endObject();
  json.key("unsupported").beginObject();
  for (const auto& [function, times] : s.unsupported) json.field(function, times);
  json.endObject().endObject();
}

}  // namespace

Status describeRecording(RecordingReader& reader, bool json, Output& out) {
  std::vector<Summary> all;
  for (const Process& process : reader.processes()) {
    TS_TRY(Summary summary, summarize(reader, process));
    all.push_back(std::move(summary));
  }
  if (json) {
    JsonWriter writer(out, 2);
    writer.beginObject();
    writer.field("path", reader.path()).field("complete", reader.complete());
    writer.field("chunks", reader.chunks()).field("content_bytes", reader.contentBytes());
    writer.key("processes").beginArray();
    for (const Summary& s : all) writeJson(s, writer);
    writer.endArray().endObject();
    out.put('\n');
    return {};
  }
  out.write(fmt::format("{}: a recording for replay, {}\n", reader.path(),
                        reader.complete() ? "complete" : "not finished"));
  out.write(fmt::format("  content   {} distinct chunks, {:.1f} MiB\n", reader.chunks(),
                        static_cast<double>(reader.contentBytes()) / (1 << 20)));
  for (const Summary& s : all) writeText(s, out);
  return {};
}

}  // namespace tracesmith::cli
