// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/text/terminal_info.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/format/blocks/table_traits.hpp"
#include "tracesmith/format/encoding/column_codec.hpp"
#include "tracesmith/model/ranks/ranks.hpp"
#include "tracesmith/model/track_groups.hpp"
#include "tracesmith/recording/recording_file.hpp"

namespace tracesmith {
namespace {

struct ColumnBytes {
  uint64_t bytes = 0;
  std::set<uint8_t> encodings;
};
struct TableBytes {
  uint64_t rows = 0;
  uint64_t bytes = 0;  // of its blocks, including headers
  std::map<uint16_t, ColumnBytes> columns;
};

std::map<TableId, TableBytes> bytesByTable(const TraceReader& reader) {
  std::map<TableId, TableBytes> out;
  for (size_t i = 0; i < reader.blocks().size(); ++i) {
    const BlockInfo& block = reader.blocks()[i];
    TableBytes& table = out[block.table];
    table.rows += block.rows;
    table.bytes += block.end - block.offset;
    for (const ColumnExtent& column : reader.columnsOf(i)) {
      table.columns[column.number].bytes += column.stored_bytes;
      table.columns[column.number].encodings.insert(column.encoding);
    }
  }
  return out;
}

/// Time range according to the block headers, for a trace whose events were not read.
TimeRange spanOf(const Trace& trace, const TraceReader& reader) {
  TimeRange range = timeRange(trace);
  if (range.duration() > 0) return range;
  bool any = trace.begin_ns.has_value();
  for (const BlockInfo& block : reader.blocks()) {
    if (block.min_time_ns > block.max_time_ns) continue;
    range.begin_ns = any ? std::min(range.begin_ns, block.min_time_ns) : block.min_time_ns;
    range.end_ns = any ? std::max(range.end_ns, block.max_time_ns) : block.max_time_ns;
    any = true;
  }
  return range;
}

/// Names of tables and columns from the schema, by number.
struct SchemaNames {
  std::map<TableId, std::string> tables;
  std::map<std::pair<TableId, uint16_t>, std::string> columns;
  SchemaNames() {
    tables[TableId::kString] = "string";
    columns[{TableId::kString, uint16_t{1}}] = "text";
    tables[TableId::kSource] = "source";
    for (const auto id : {TableId::kRecordedProcess, TableId::kRecordedCommand,
                          TableId::kRecordedContent, TableId::kRecordedPlace}) {
      tables[id] = sbt::tableName(static_cast<uint16_t>(id));
    }
    columns[{TableId::kSource, uint16_t{3}}] = "shape";
    Trace empty;
    forEachTable(empty, [&](auto& table) {
      using Table = std::decay_t<decltype(table)>;
      tables[Table::kId] = Table::kName;
      for (const ColumnInfo& c : Table::kColumns) columns[{Table::kId, c.number}] = c.name;
    });
  }
  std::string table(TableId id) const {
    auto it = tables.find(id);
    return it == tables.end() ? fmt::format("table {} (newer version)", static_cast<int>(id))
                              : it->second;
  }
  std::string column(TableId id, uint16_t number) const {
    auto it = columns.find({id, number});
    if (it == columns.end() && id == TableId::kSource && number >= 16) {
      return fmt::format("leaf {}", number - 16);
    }
    return it == columns.end() ? fmt::format("column {}", number) : it->second;
  }
};

struct ClockFacts {
  uint64_t snapshots = 0;
  int64_t largest_error_ns = 0;
  bool used = false;
  bool hasError() const { return largest_error_ns > 0; }
};

std::string_view encodingName(uint8_t number) {
  const sbt::ColumnCodec* codec = sbt::findCodec(number);
  return codec == nullptr ? "unknown" : codec->name;
}

std::vector<ClockFacts> clockFacts(const Trace& t) {
  std::vector<ClockFacts> facts(t.clock_domain.size());
  for (size_t i = 0; i < t.clock_snapshot.size(); ++i) {
    const auto domain = static_cast<size_t>(t.clock_snapshot.domain_id[i]);
    if (domain == 0 || domain > facts.size()) continue;
    ClockFacts& f = facts[domain - 1];
    ++f.snapshots;
    f.largest_error_ns = std::max(f.largest_error_ns, t.clock_snapshot.error_ns[i]);
  }
  for (ClockDomainId id : t.device.clock_domain_id) {
    if (id != ClockDomainId::kNone && indexOf(id) < facts.size()) facts[indexOf(id)].used = true;
  }
  return facts;
}

std::string exitText(const ProcessRow& p) {
  if (p.flags & process_flags::kOutOfMemory) return "killed, out of memory";
  if (p.end_ns == 0) return (p.flags & process_flags::kStillRunning) ? "still running" : "";
  if (p.flags & process_flags::kSignalled) return fmt::format("signal {}", p.exit_code);
  return p.exit_code < 0 ? "ended" : fmt::format("exit {}", p.exit_code);
}

std::string processNotes(const ProcessRow& p) {
  std::string notes;
  auto add = [&](uint32_t bit, const char* text) {
    if (p.flags & bit) notes += (notes.empty() ? "" : ", ") + std::string(text);
  };
  add(process_flags::kAgent, "recorded");
  add(process_flags::kUnobserved, "UNOBSERVED");
  add(process_flags::kForkedChild, "fork");
  return notes;
}

constexpr TableId kCounted[] = {TableId::kKernel,       TableId::kCopy,      TableId::kFill,
                                TableId::kSync,         TableId::kHostCall,  TableId::kMemoryEvent,
                                TableId::kProgramBuild, TableId::kFlow,      TableId::kCounter,
                                TableId::kRange,        TableId::kFlowEvent, TableId::kComm,
                                TableId::kCommWork,     TableId::kCpuSample, TableId::kThreadState,
                                TableId::kWakeup,       TableId::kSystemCall};

bool isImported(const Trace& t) { return !t.metadataValue("imported_format").empty(); }

/// Whether `path` is another tool's file that was imported only for this command.
bool isForeignFile(const Trace& t, const std::string& path) {
  return isImported(t) && t.metadataValue("imported_from") == path;
}

/// Size of the file that the user named, or that of the trace if it has none (a pipe, say).
uint64_t sizeOfFile(const std::string& path, const TraceReader& reader) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  return error ? reader.fileBytes() : bytes;
}

/// Names of track groups that a source shows as processes; equal names are merged: "python (8)".
std::string trackGroupsText(const Trace& t) {
  std::map<std::string, size_t> named;
  for (size_t i = 0; i < t.process.size(); ++i) {
    if (isTrackGroup(t, i)) ++named[std::string(t.text(t.process.command_line[i]))];
  }
  std::string out;
  for (const auto& [name, count] : named) {
    out += (out.empty() ? "" : ", ") + (name.empty() ? "(no name)" : name);
    if (count > 1) out += fmt::format(" ({})", count);
  }
  return out;
}

class TextView {
 public:
  TextView(const Trace& trace, const TerminalStyle& style, Output& out)
      : t_(trace), style_(style), out_(out) {}

  void file(const TraceReader& reader, const std::string& path) {
    const TimeRange range = spanOf(t_, reader);
    foreign_ = isForeignFile(t_, path);
    const std::string_view format = t_.metadataValue("imported_format");
    const std::string version =
        fmt::format("SBT {}.{}", reader.versionMajor(), reader.versionMinor());
    const std::string size = path + ", " + formatBytes(sizeOfFile(path, reader)) + ", ";
    if (foreign_) {
      line("file",
           size + std::string(format) +
               fmt::format("; read into {} of {}", version, formatBytes(reader.fileBytes())));
    } else {
      line("file",
           size + version + (reader.complete() ? ", complete" : ", INCOMPLETE (no end marker)"));
    }
    if (isImported(t_) && !foreign_) {
      const std::string_view from = t_.metadataValue("imported_from");  // "" if ranks differ
      line("source", from.empty() ? std::string(format) : fmt::format("{} ({})", from, format));
    }
    if (auto c = t_.metadataValue("command_line"); !c.empty()) line("command", std::string(c));
    if (auto h = t_.metadataValue("hostname"); !h.empty()) {
      line("host", std::string(h) + ", " + std::string(t_.metadataValue("os")));
    }
    if (auto p = t_.metadataValue("producer"); !p.empty()) line("written by", std::string(p));
    if (!isMerged(t_)) line("span", formatDuration(range.duration(), style_.micro()));
    if (auto w = t_.metadataValue("flight_recorder.window"); !w.empty()) {
      const std::string_view reason = t_.metadataValue("flight_recorder.reason");
      line("kept",
           fmt::format("the last {} of a flight recorder{}{}; losses count the whole recording", w,
                       reason.empty() ? "" : ", because: ", reason));
    }
    if (t_.metadataValue("synthetic") == "true") line("NOTE", "synthetic: nothing was measured");
    if (reader.rows(TableId::kRecordedCommand) > 0) {
      line("recording", fmt::format("in this file: {} commands, {} chunks of content ('tracesmith "
                                    "replay' executes it)",
                                    formatCount(reader.rows(TableId::kRecordedCommand)),
                                    formatCount(reader.rows(TableId::kRecordedContent))));
    } else if (RecordingReader::isThere(path)) {
      line("recording",
           recording::recordingPathFor(path) + ", beside it ('tracesmith info' describes it)");
    }
    for (const DataLoss& loss : reader.losses()) {
      line("DAMAGE", fmt::format("at byte {}, {} bytes: {}", loss.offset, loss.bytes, loss.reason));
    }
  }

  void counts(const std::map<TableId, TableBytes>& bytes, const SchemaNames& names) {
    heading("events (rows of each table)");
    TextTable table({{"table"}, {"rows", TextTable::Align::kRight}});
    for (TableId id : kCounted) {
      auto it = bytes.find(id);
      if (it != bytes.end()) table.add({names.table(id), formatCount(it->second.rows)});
    }
    show(table);
  }

  void ranks() {
    if (!isMerged(t_)) return;
    const std::vector<TimeRange> ranges = rangesOfRanks(t_);
    heading(fmt::format("ranks ({})", t_.rank.size()).c_str());
    TextTable table({{"rank", TextTable::Align::kRight},
                     {"of", TextTable::Align::kRight},
                     {"known from"},
                     {"span", TextTable::Align::kRight},
                     {"file", TextTable::Align::kLeft, true}});
    for (size_t i = 0; i < t_.rank.size(); ++i) {
      const RankRow r = t_.rank.row(i);
      table.add({std::to_string(r.number), r.world_size == 0 ? "" : std::to_string(r.world_size),
                 r.number_from == RankSource::kTrace      ? "trace"
                 : r.number_from == RankSource::kFileName ? "file name"
                                                          : "position",
                 formatDuration(ranges[i].duration(), style_.micro()), text(r.file)});
    }
    show(table);
    out_.write(fmt::format("  {}\n", clocksText(t_)));
  }

  void devices() {
    if (t_.device.empty()) return;
    heading("devices");
    TextTable table({{"id", TextTable::Align::kRight},
                     {"name", TextTable::Align::kLeft, true},
                     {"API"},
                     {"kind"},
                     {"units", TextTable::Align::kRight},
                     {"memory", TextTable::Align::kRight},
                     {"driver", TextTable::Align::kLeft, true},
                     {"clock"}});
    for (size_t i = 0; i < t_.device.size(); ++i) {
      const DeviceRow d = t_.device.row(i);
      const auto domain = static_cast<size_t>(d.clock_domain_id);
      table.add({std::to_string(i + 1), text(d.name), std::string(toString(d.backend)),
                 std::string(toString(d.kind)), std::to_string(d.compute_units),
                 formatBytes(d.memory_bytes), text(d.driver_version),
                 domain == 0 || domain > t_.clock_domain.size() ? "host"
                 : t_.clock_domain.kind[domain - 1] == ClockKind::kConverted
                     ? text(t_.clock_domain.name[domain - 1])
                     : std::string(toString(t_.clock_domain.kind[domain - 1]))});
    }
    show(table);
  }

  void clocks() {
    const std::vector<ClockFacts> facts = clockFacts(t_);
    if (facts.empty()) return;
    heading(isImported(t_) ? "clocks (against the times of the source)"
                           : "clocks (against CLOCK_MONOTONIC)");
    TextTable table({{"clock"},
                     {"snapshots", TextTable::Align::kRight},
                     {"error bound", TextTable::Align::kRight},
                     {"used by"}});
    for (size_t i = 0; i < facts.size(); ++i) {
      if (facts[i].snapshots == 0) continue;
      const bool stamps = t_.clock_domain.kind[i] == ClockKind::kTimeStampCounter;
      std::string error =
          (style_.utf8 ? "±" : "+-") + formatDuration(facts[i].largest_error_ns, style_.micro());
      // An error of 0 is impossible when reading two clocks.
      if (!facts[i].hasError()) error = "not known";
      // The vendor library's conversion of device times adds an error that is not known.
      if (t_.clock_domain.kind[i] == ClockKind::kConverted) {
        error = fmt::format("not known ({} to the host)", error);
      }
      table.add({text(t_.clock_domain.name[i]), formatCount(facts[i].snapshots), error,
                 facts[i].used ? "device times"
                 : stamps      ? "host calls"
                               : ""});
    }
    show(table);
  }

  void processes() {
    if (t_.process.empty()) return;
    size_t groups = 0;
    for (size_t i = 0; i < t_.process.size(); ++i) groups += isTrackGroup(t_, i) ? 1 : 0;
    heading(fmt::format("processes ({})", t_.process.size() - groups).c_str());
    TextTable table({{"pid", TextTable::Align::kRight},
                     {"parent", TextTable::Align::kRight},
                     {"lasted", TextTable::Align::kRight},
                     {"end"},
                     {"notes"},
                     {"command line", TextTable::Align::kLeft, true}});
    const bool imported = isImported(t_);
    for (size_t i = 0; i < t_.process.size(); ++i) {
      if (isTrackGroup(t_, i)) continue;
      const ProcessRow p = t_.process.row(i);
      std::string command = text(p.command_line);
      if (command.empty()) command = text(p.executable);
      if (command.empty()) {
        command =
            imported ? "(the source does not name it)" : "(ended before it could be examined)";
      }
      const auto number = [&](uint32_t pid) {
        return pid == 0 && imported ? std::string() : std::to_string(pid);
      };
      table.add({number(p.pid), number(p.parent_pid),
                 p.end_ns == 0 ? "" : formatDuration(p.end_ns - p.start_ns, style_.micro()),
                 exitText(p), processNotes(p), command});
    }
    show(table);
    if (groups > 0) {
      out_.write(
          printable(fmt::format("  and {} {} of tracks that the source draws as {}: {}", groups,
                                groups == 1 ? "group" : "groups",
                                groups == 1 ? "a process" : "processes", trackGroupsText(t_))) +
          "\n");
    }
  }

  void losses() {
    if (t_.loss.empty()) return;
    heading(isImported(t_) ? "losses (events of the source; names of processes and threads count)"
                           : "losses (records of each source)");
    using A = TextTable::Align;
    const bool merged = isMerged(t_);
    TextTable table({{"source", A::kLeft, true},
                     {merged ? "rank" : "pid", A::kRight},
                     {"emitted", A::kRight},
                     {"written", A::kRight},
                     {"dropped", A::kRight},
                     {"unresolved", A::kRight},
                     {"reason", A::kLeft, true}});
    for (size_t i = 0; i < t_.loss.size(); ++i) {
      const LossRow l = t_.loss.row(i);
      const auto process = static_cast<size_t>(l.process_id);
      table.add({text(l.source),
                 merged ? rankText(l.rank_id)
                 : process == 0 || process > t_.process.size()
                     ? ""
                     : std::to_string(t_.process.pid[process - 1]),
                 emittedIsKnown(t_.loss, i) ? formatCount(l.emitted) : "unknown",
                 formatCount(l.written), formatCount(l.dropped), formatCount(l.unresolved),
                 text(l.reason)});
    }
    show(table);
  }

  void bytes(const std::map<TableId, TableBytes>& bytes, const SchemaNames& names, bool columns) {
    heading(foreign_ ? "bytes (of the SBT that the file was read into)" : "bytes");
    using A = TextTable::Align;
    TextTable table({{columns ? "table.column" : "table"},
                     {"rows", A::kRight},
                     {"bytes", A::kRight},
                     {"per row", A::kRight},
                     {columns ? "encoding" : ""}});
    for (const auto& [id, b] : bytes) {
      auto perRow = [&, rows = b.rows](uint64_t n) {
        return rows == 0
                   ? ""
                   : fmt::format("{:.2f}", static_cast<double>(n) / static_cast<double>(rows));
      };
      table.add({names.table(id), formatCount(b.rows), formatCount(b.bytes), perRow(b.bytes), ""});
      if (!columns) continue;
      for (const auto& [number, c] : b.columns) {
        std::string encodings;
        for (uint8_t e : c.encodings) {
          encodings += (encodings.empty() ? "" : ", ") + std::string(encodingName(e));
        }
        table.add({"  ." + names.column(id, number), "", formatCount(c.bytes), perRow(c.bytes),
                   encodings});
      }
    }
    show(table);
  }

 private:
  std::string text(StringId id) const { return printable(t_.text(id)); }
  std::string rankText(RankId id) const {
    const auto i = static_cast<size_t>(id);
    return i == 0 || i > t_.rank.size() ? "" : std::to_string(t_.rank.number[i - 1]);
  }
  void line(const char* key, const std::string& value) {
    out_.write(style_.bold(fmt::format("{:<11}", key)) + printable(value) + "\n");
  }
  void heading(const char* name) { out_.write("\n" + style_.bold(name) + "\n"); }
  void show(const TextTable& table) { out_.write(table.render(style_, "  ")); }

  const Trace& t_;
  const TerminalStyle& style_;
  Output& out_;
  bool foreign_ = false;
};

void writeMetadata(JsonWriter& w, const Trace& t) {
  w.key("metadata").beginObject();
  std::map<std::string, std::string> metadata;
  for (size_t i = 0; i < t.metadata.size(); ++i) {
    metadata[std::string(t.text(t.metadata.key[i]))] = t.text(t.metadata.value[i]);
  }
  for (const auto& [key, value] : metadata) w.field(key, value);
  w.endObject();
}

void writeDamage(JsonWriter& w, const TraceReader& reader) {
  w.key("damage").beginArray();
  for (const DataLoss& loss : reader.losses()) {
    w.beginObject().field("offset", loss.offset).field("bytes", loss.bytes);
    w.field("reason", loss.reason).endObject();
  }
  w.endArray();
}

void writeRanks(JsonWriter& w, const Trace& t) {
  const std::vector<TimeRange> ranges = rangesOfRanks(t);
  w.key("ranks").beginArray();
  for (size_t i = 0; i < t.rank.size(); ++i) {
    const RankRow r = t.rank.row(i);
    w.beginObject().field("rank", r.number).field("known_from", toString(r.number_from));
    if (r.world_size != 0) w.field("world_size", r.world_size);
    w.field("begin_ns", ranges[i].begin_ns).field("end_ns", ranges[i].end_ns);
    if (r.clock_rank_id != RankId::kNone) w.field("clock_error_ns", r.clock_error_ns);
    w.field("file", t.text(r.file)).endObject();
  }
  w.endArray();
}

void writeDevices(JsonWriter& w, const Trace& t) {
  w.key("devices").beginArray();
  for (size_t i = 0; i < t.device.size(); ++i) {
    const DeviceRow d = t.device.row(i);
    w.beginObject().field("id", i + 1).field("name", t.text(d.name));
    w.field("vendor", t.text(d.vendor)).field("platform", t.text(d.platform));
    w.field("driver_version", t.text(d.driver_version)).field("backend", toString(d.backend));
    w.field("kind", toString(d.kind)).field("memory_bytes", d.memory_bytes);
    w.field("compute_units", d.compute_units).field("clock_mhz", d.clock_mhz).endObject();
  }
  w.endArray();
}

void writeClocks(JsonWriter& w, const Trace& t) {
  w.key("clocks").beginArray();
  const std::vector<ClockFacts> facts = clockFacts(t);
  for (size_t i = 0; i < facts.size(); ++i) {
    w.beginObject().field("id", i + 1).field("name", t.text(t.clock_domain.name[i]));
    w.field("kind", toString(t.clock_domain.kind[i])).field("snapshots", facts[i].snapshots);
    if (t.clock_domain.kind[i] == ClockKind::kConverted) {
      w.key("error_ns").null();
      w.field("error_to_host_ns", facts[i].largest_error_ns);
    } else if (!facts[i].hasError()) {
      w.key("error_ns").null();
    } else {
      w.field("error_ns", facts[i].largest_error_ns);
    }
    w.field("used_by_device", facts[i].used);
    w.endObject();
  }
  w.endArray();
}

/// Also writes groups of tracks, which are rows of the same table.
void writeProcesses(JsonWriter& w, const Trace& t) {
  w.key("processes").beginArray();
  for (size_t i = 0; i < t.process.size(); ++i) {
    if (isTrackGroup(t, i)) continue;
    const ProcessRow p = t.process.row(i);
    w.beginObject().field("pid", p.pid).field("parent_pid", p.parent_pid);
    w.field("command_line", t.text(p.command_line)).field("executable", t.text(p.executable));
    w.field("start_ns", p.start_ns).field("end_ns", p.end_ns).field("exit_code", p.exit_code);
    w.field("agent", (p.flags & process_flags::kAgent) != 0);
    w.field("unobserved", (p.flags & process_flags::kUnobserved) != 0);
    w.field("signalled", (p.flags & process_flags::kSignalled) != 0).endObject();
  }
  w.endArray();
  w.key("track_groups").beginArray();
  for (size_t i = 0; i < t.process.size(); ++i) {
    if (!isTrackGroup(t, i)) continue;
    w.beginObject().field("pid", t.process.pid[i]);
    w.field("name", t.text(t.process.command_line[i])).endObject();
  }
  w.endArray();
}

void writeLosses(JsonWriter& w, const Trace& t) {
  w.key("losses").beginArray();
  for (size_t i = 0; i < t.loss.size(); ++i) {
    const LossRow l = t.loss.row(i);
    w.beginObject().field("source", t.text(l.source));
    w.field("process_id", static_cast<uint32_t>(l.process_id));
    if (emittedIsKnown(t.loss, i)) w.field("emitted", l.emitted);
    w.field("written", l.written).field("dropped", l.dropped).field("unresolved", l.unresolved);
    w.field("reason", t.text(l.reason)).endObject();
  }
  w.endArray();
}

void writeCounts(JsonWriter& w, const std::map<TableId, TableBytes>& bytes,
                 const SchemaNames& names) {
  w.key("counts").beginObject();
  for (TableId id : kCounted) {
    auto it = bytes.find(id);
    w.field(names.table(id), it == bytes.end() ? uint64_t{0} : it->second.rows);
  }
  w.endObject();
}

void writeTables(JsonWriter& w, const std::map<TableId, TableBytes>& bytes,
                 const SchemaNames& names, bool columns) {
  w.key("tables").beginArray();
  for (const auto& [id, b] : bytes) {
    w.beginObject().field("name", names.table(id)).field("rows", b.rows).field("bytes", b.bytes);
    if (columns) {
      w.key("columns").beginArray();
      for (const auto& [number, c] : b.columns) {
        w.beginObject().field("name", names.column(id, number)).field("bytes", c.bytes);
        w.key("encodings").beginArray();
        for (uint8_t e : c.encodings) w.value(encodingName(e));
        w.endArray().endObject();
      }
      w.endArray();
    }
    w.endObject();
  }
  w.endArray();
}

void writeJson(const Trace& t, const TraceReader& reader, const std::string& path,
               const InfoOptions& options, Output& out) {
  JsonWriter w(out, 2);
  const auto bytes = bytesByTable(reader);
  const SchemaNames names;
  const TimeRange range = spanOf(t, reader);
  w.beginObject();
  w.field("path", path).field("bytes", sizeOfFile(path, reader));
  w.field("sbt_bytes", reader.fileBytes());
  w.field("version", fmt::format("{}.{}", reader.versionMajor(), reader.versionMinor()));
  w.field("complete", reader.complete());
  w.field("has_recording", reader.rows(TableId::kRecordedCommand) > 0);
  if (!isMerged(t)) w.field("begin_ns", range.begin_ns).field("end_ns", range.end_ns);
  writeMetadata(w, t);
  writeCounts(w, bytes, names);
  writeDamage(w, reader);
  writeRanks(w, t);
  writeDevices(w, t);
  writeClocks(w, t);
  writeProcesses(w, t);
  writeLosses(w, t);
  writeTables(w, bytes, names, options.columns);
  w.endObject();
  out.write("\n");
}

}  // namespace

void describeTrace(const Trace& trace, const TraceReader& reader, const std::string& path,
                   const InfoOptions& options, const TerminalStyle& style, Output& out) {
  if (options.json) return writeJson(trace, reader, path, options, out);
  const auto bytes = bytesByTable(reader);
  const SchemaNames names;
  TextView view(trace, style, out);
  view.file(reader, path);
  view.counts(bytes, names);
  view.ranks();
  view.devices();
  view.clocks();
  view.processes();
  view.losses();
  view.bytes(bytes, names, options.columns);
}

}  // namespace tracesmith
