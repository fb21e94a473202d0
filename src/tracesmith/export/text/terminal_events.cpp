// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/text/terminal_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tracesmith/analysis/timing/call_path_costs.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/export/text/table_text.hpp"
#include "tracesmith/model/frame_symbols.hpp"
#include "tracesmith/model/names/device_names.hpp"

namespace tracesmith {
namespace {

/// One event, identified by table and row.
struct Entry {
  int64_t start_ns = 0;
  TableId table{};
  uint32_t row = 0;
};

/// The listed properties of an event.
struct Described {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  std::string_view type;
  std::string name;
  ProcessId process{};
  ThreadId thread{};
  StreamId stream{};
  uint64_t correlation = 0;
  CallPathId call_path{};
  std::string detail;
};

std::string shapeText(const Trace& t, ShapeId id) {
  if (id == ShapeId::kNone || indexOf(id) >= t.launch_shape.size()) return {};
  const LaunchShapeRow s = t.launch_shape.row(indexOf(id));
  auto triple = [&](uint64_t x, uint64_t y, uint64_t z) {
    if (s.dimensions <= 1) return fmt::format("{}", x);
    if (s.dimensions == 2) return fmt::format("{}x{}", x, y);
    return fmt::format("{}x{}x{}", x, y, z);
  };
  std::string text = triple(s.global_x, s.global_y, s.global_z);
  if (s.local_x != 0) text += " / " + triple(s.local_x, s.local_y, s.local_z);
  return text;
}

void addFlags(std::string& detail, uint32_t flags) {
  auto add = [&](uint32_t bit, const char* text) {
    if (flags & bit) detail += (detail.empty() ? "" : ", ") + std::string(text);
  };
  add(op_flags::kFirstLaunch, "first launch");
  add(op_flags::kFailed, "failed");
  add(op_flags::kNoDeviceTime, "no device time");
  add(op_flags::kBlocking, "blocking");
  add(op_flags::kSynthetic, "synthetic");
}

class Describer {
 public:
  explicit Describer(const Trace& trace) : t_(trace) {}

  Described operator()(const Entry& e) const {
    Described d;
    d.start_ns = e.start_ns;
    d.name = eventName(t_, e.table, e.row);
    const size_t i = e.row;
    auto common = [&](const auto& table, std::string_view type) {
      d.type = type;
      d.duration_ns = table.duration_ns[i];
      d.process = table.process_id[i];
      d.thread = table.thread_id[i];
      d.correlation = table.correlation_id[i];
      if constexpr (requires { table.call_path_id; }) d.call_path = table.call_path_id[i];
    };
    switch (e.table) {
      case TableId::kHostCall:
        common(t_.host_call, "call");
        d.stream = t_.host_call.stream_id[i];
        if (t_.host_call.result[i] != 0)
          d.detail = fmt::format("failed: {}", t_.host_call.result[i]);
        break;
      case TableId::kKernel:
        common(t_.kernel, "kernel");
        d.stream = t_.kernel.stream_id[i];
        d.detail = shapeText(t_, t_.kernel.shape_id[i]);
        addFlags(d.detail, t_.kernel.flags[i]);
        break;
      case TableId::kCopy:
        common(t_.copy, "copy");
        d.stream = t_.copy.stream_id[i];
        d.detail = formatBytes(t_.copy.bytes[i]);
        addFlags(d.detail, t_.copy.flags[i]);
        break;
      case TableId::kFill:
        common(t_.fill, "fill");
        d.stream = t_.fill.stream_id[i];
        d.detail = formatBytes(t_.fill.bytes[i]);
        addFlags(d.detail, t_.fill.flags[i]);
        break;
      case TableId::kSync:
        common(t_.sync, "sync");
        d.stream = t_.sync.stream_id[i];
        d.detail = (t_.sync.flags[i] & op_flags::kHostSide) ? "host waits" : "";
        addFlags(d.detail, t_.sync.flags[i] & ~op_flags::kHostSide);
        break;
      case TableId::kMemoryEvent:
        d.type = "memory";
        d.process = t_.memory_event.process_id[i];
        d.thread = t_.memory_event.thread_id[i];
        d.correlation = t_.memory_event.correlation_id[i];
        d.call_path = t_.memory_event.call_path_id[i];
        d.detail = formatBytes(t_.memory_event.bytes[i]);
        break;
      case TableId::kProgramBuild:
        common(t_.program_build, "build");
        d.detail = t_.program_build.result[i] == 0
                       ? "log " + formatBytes(t_.program_build.log_bytes[i])
                       : fmt::format("failed: {}", t_.program_build.result[i]);
        break;
      default:
        common(t_.range, toString(t_.range.kind[i]));
        d.stream = t_.range.stream_id[i];
        d.detail = t_.text(t_.range.category[i]);
        break;
    }
    return d;
  }

 private:
  const Trace& t_;
};

/// `streams`: stream names by index.
std::string whereText(const Trace& t, const std::vector<std::string>& streams, const Described& d) {
  const bool on_device = d.type == "kernel" || d.type == "copy" || d.type == "fill";
  if ((on_device || d.type == "sync") && d.stream != StreamId::kNone) {
    return printable(indexOf(d.stream) < streams.size() ? streams[indexOf(d.stream)]
                                                        : streamName(t, d.stream));
  }
  const uint32_t tid = d.thread == ThreadId::kNone || indexOf(d.thread) >= t.thread.size()
                           ? 0
                           : t.thread.tid[indexOf(d.thread)];
  return tid == 0 ? "" : fmt::format("thread {}", tid);
}

/// Numbers by which the program and the system know where the event ran, unlike the trace's ids.
std::array<std::pair<const char*, std::optional<uint32_t>>, 4> numbersOf(const Trace& t,
                                                                         const Described& d) {
  const auto of = [](auto id, const auto& column) {
    return static_cast<size_t>(id) != 0 && indexOf(id) < column.size()
               ? std::optional<uint32_t>(static_cast<uint32_t>(column[indexOf(id)]))
               : std::nullopt;
  };
  return {{{"pid", of(d.process, t.process.pid)},
           {"tid", of(d.thread, t.thread.tid)},
           {"device", of(t.deviceOf(d.stream), t.device.ordinal)},
           {"stream", of(d.stream, t.stream.ordinal)}}};
}

void writeText(const Trace& t, const std::vector<Entry>& entries, const FrameSymbols* symbols,
               const TerminalStyle& style, Output& out) {
  const Describer describe(t);
  const std::vector<std::string> streams = distinctStreamNames(t);
  const int64_t origin = timeRange(t).begin_ns;
  using A = TextTable::Align;
  // Formats this many rows per table to bound memory; column widths may differ between tables.
  constexpr size_t kChunk = 4096;
  if (entries.empty()) out.write("no events\n");
  for (size_t begin = 0; begin < entries.size(); begin += kChunk) {
    TextTable table({{"time", A::kRight},
                     {"duration", A::kRight},
                     {"type", A::kLeft},
                     {"where", A::kLeft},
                     {"corr", A::kRight},
                     {"name", A::kLeft, true},
                     {"details", A::kLeft, true}});
    for (size_t i = begin; i < std::min(entries.size(), begin + kChunk); ++i) {
      const Described d = describe(entries[i]);
      table.add({fmt::format("{:.6f} s", static_cast<double>(lengthOf(origin, d.start_ns)) / 1e9),
                 d.type == "memory" || d.type == "instant"
                     ? ""
                     : formatDuration(d.duration_ns, style.micro()),
                 std::string(d.type), whereText(t, streams, d),
                 d.correlation == 0 ? "" : std::to_string(d.correlation), printable(d.name),
                 printable(d.detail)});
    }
    const std::string text = table.render(style);
    if (symbols == nullptr) {
      out.write(text);
      continue;
    }
    // Writes the table header, then each row with its stack.
    const size_t rows = std::min(entries.size(), begin + kChunk) - begin;
    const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
    size_t line = 0;
    for (size_t at = 0; at < text.size(); ++line) {
      const size_t end = text.find('\n', at) + 1;
      out.write(std::string_view(text).substr(at, end - at));
      at = end;
      if (line + rows < lines) continue;
      const Described d = describe(entries[begin + line + rows - lines]);
      for (const std::string& frame : stackLines(t, *symbols, d.call_path)) {
        out.write(fmt::format("      {}\n", frame));
      }
    }
  }
}

void writeRecords(const Trace& t, const std::vector<Entry>& entries, const FrameSymbols* symbols,
                  bool json, Output& out) {
  const Describer describe(t);
  JsonWriter writer(out);
  auto number = [](auto id) { return static_cast<uint64_t>(id); };
  if (json) {
    writer.beginArray();
  } else {
    out.write(
        "start_ns,duration_ns,type,process_id,thread_id,device_id,stream_id,correlation_id,name,"
        "details,pid,tid,device,stream");
    out.write(symbols == nullptr ? "\n" : ",stack\n");
  }
  for (const Entry& e : entries) {
    const Described d = describe(e);
    const DeviceId device = t.deviceOf(d.stream);
    if (json) {
      writer.beginObject();
      writer.field("start_ns", d.start_ns).field("duration_ns", d.duration_ns);
      writer.field("type", d.type).field("process_id", number(d.process));
      writer.field("thread_id", number(d.thread)).field("device_id", number(device));
      writer.field("stream_id", number(d.stream)).field("correlation_id", d.correlation);
      writer.field("name", d.name).field("details", d.detail);
      for (const auto& [key, known] : numbersOf(t, d)) {
        writer.key(key);
        if (known) {
          writer.value(*known);
        } else {
          writer.null();
        }
      }
      if (symbols != nullptr) {
        writer.key("stack").beginArray();
        for (const std::string& frame : stackLines(t, *symbols, d.call_path)) writer.value(frame);
        writer.endArray();
      }
      writer.endObject();
      continue;
    }
    std::string line = fmt::format("{},{},{},{},{},{},{},{},", d.start_ns, d.duration_ns, d.type,
                                   number(d.process), number(d.thread), number(device),
                                   number(d.stream), d.correlation);
    appendCsvField(line, d.name);
    line += ',';
    appendCsvField(line, d.detail);
    for (const auto& [key, known] : numbersOf(t, d)) {
      line += ',';
      if (known) line += std::to_string(*known);
    }
    if (symbols != nullptr) {
      std::string stack;
      for (const std::string& frame : stackLines(t, *symbols, d.call_path)) stack += frame + '\n';
      if (!stack.empty()) stack.pop_back();
      line += ',';
      appendCsvField(line, stack);
    }
    out.write(line + "\n");
  }
  if (json) {
    writer.endArray();
    out.write("\n");
  }
}

}  // namespace

size_t listEvents(const Trace& trace, const EventMatcher& matches, size_t limit, ListFormat format,
                  bool stacks, const TerminalStyle& style, Output& out) {
  std::vector<Entry> entries;
  auto collect = [&](const auto& table, const Column<int64_t>& times) {
    if (!matches.wantsTable(table.kId)) return;
    for (size_t i = 0; i < table.size(); ++i) {
      if (matches(table.kId, i)) entries.push_back({times[i], table.kId, static_cast<uint32_t>(i)});
    }
  };
  collect(trace.host_call, trace.host_call.start_ns);
  collect(trace.kernel, trace.kernel.start_ns);
  collect(trace.copy, trace.copy.start_ns);
  collect(trace.fill, trace.fill.start_ns);
  collect(trace.sync, trace.sync.start_ns);
  collect(trace.range, trace.range.start_ns);
  collect(trace.program_build, trace.program_build.start_ns);
  collect(trace.memory_event, trace.memory_event.time_ns);
  auto earlier = [](const Entry& a, const Entry& b) {
    return std::tie(a.start_ns, a.table, a.row) < std::tie(b.start_ns, b.table, b.row);
  };
  const size_t shown = std::min(limit, entries.size());
  const size_t beyond = entries.size() - shown;
  std::partial_sort(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(shown), entries.end(),
                    earlier);
  entries.resize(shown);
  std::optional<FrameSymbols> symbols;
  if (stacks) symbols.emplace(trace);
  const FrameSymbols* const named = symbols ? &*symbols : nullptr;
  if (format == ListFormat::kText) {
    writeText(trace, entries, named, style, out);
  } else {
    writeRecords(trace, entries, named, format == ListFormat::kJson, out);
  }
  return beyond;
}

}  // namespace tracesmith
