// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/amd/rocprof_csv.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "tracesmith/import/amd/rocprof_agents.hpp"
#include "tracesmith/import/amd/rocprof_kinds.hpp"
#include "tracesmith/import/common/csv_reader.hpp"
#include "tracesmith/import/common/damage_log.hpp"
#include "tracesmith/import/common/source_interval.hpp"
#include "tracesmith/import/common/source_numbers.hpp"
#include "tracesmith/import/common/trace_builder.hpp"

namespace tracesmith::import {
namespace {

enum class CsvTable : uint8_t {
  kAgents,
  kKernels,
  kCopies,
  kAllocations,
  kCalls,
  kCounters,
  kOther
};

/// In the order of the enum, which is the order of reading: later files refer to earlier ones.
constexpr std::array<std::string_view, 7> kTitles = {
    "agents", "kernel dispatches", "copies", "allocations", "calls", "counters", "other records"};

class Columns {
 public:
  explicit Columns(std::vector<std::string> names) : names_(std::move(names)) {
    for (size_t i = 0; i < names_.size(); ++i) places_.try_emplace(names_[i], static_cast<int>(i));
  }
  /// -1 if the table has no such column.
  int find(std::string_view name) const {
    const auto it = places_.find(name);
    return it == places_.end() ? -1 : it->second;
  }
  bool has(std::string_view name) const { return find(name) >= 0; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::map<std::string, int, std::less<>> places_;  // index of the first column with each name
};

/// The table that has these columns; nullopt if it is not one of rocprofv3's.
std::optional<CsvTable> tableOf(const Columns& c) {
  if (c.has("Agent_Type") && c.has("Node_Id")) return CsvTable::kAgents;
  if (c.has("Counter_Name") && c.has("Counter_Value")) return CsvTable::kCounters;
  if (!c.has("Start_Timestamp") || !c.has("End_Timestamp")) return std::nullopt;
  if (c.has("Kernel_Name") && c.has("Dispatch_Id")) return CsvTable::kKernels;
  if (c.has("Direction") && c.has("Source_Agent_Id")) return CsvTable::kCopies;
  if (c.has("Allocation_Size")) return CsvTable::kAllocations;
  if (c.has("Function") && c.has("Domain")) return CsvTable::kCalls;
  if (c.has("Kind") && c.has("Operation")) return CsvTable::kOther;
  return std::nullopt;
}

/// Parses an integer in canonical form; other values are kept as texts.
std::optional<int64_t> integerOf(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (std::to_string(value) != text) return std::nullopt;
  return value;
}

/// Agents are given as numbers ("4"), or as a word and a number ("Agent 4", "GPU 0"). CPUs may be
/// counted separately from GPUs, so "CPU 0" gets an offset.
int64_t agentNumber(std::string_view text) {
  constexpr int64_t kCpus = 1'000'000;
  const size_t digits = text.find_last_not_of("0123456789");
  const std::string_view number = text.substr(digits == text.npos ? 0 : digits + 1);
  int64_t value = 0;
  std::from_chars(number.data(), number.data() + number.size(), value);
  return text.starts_with("CPU") ? kCpus + value : value;
}

/// Replaces invalid UTF-8, and in column names also control characters. Returns true if there were
/// none.
bool mend(std::string& text, bool name) {
  bool sound = true;
  const bool utf8 = simdjson::validate_utf8(text);
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const char instead = byte >= 0x80 && !utf8 ? '?' : name && byte < 0x20 ? ' ' : c;
    sound = sound && instead == c;
    c = instead;
  }
  return sound;
}

class RocprofCsv {
 public:
  RocprofCsv(TraceWriter& writer, Trace facts, ImportCounts& counts)
      : builder_(writer, std::move(facts)), counts_(counts) {}

  /// Sets the process of files whose tables do not name one.
  void setProcess(int64_t pid) { pid_ = pid; }
  Status read(ByteSource& source);
  Status finish();
  DamageLog damage;

 private:
  std::string_view text(std::string_view column) const {
    const int at = columns_->find(column);
    return at < 0 || static_cast<size_t>(at) >= fields_.size() ? std::string_view()
                                                               : fields_[static_cast<size_t>(at)];
  }
  int64_t number(std::string_view column, int64_t missing = 0) const {
    return integerOf(text(column)).value_or(missing);
  }
  int64_t process() const { return number("Process_Id", pid_); }
  int64_t agent(std::string_view column);
  void agents();
  TableId row(CsvTable table);
  TableId kernel();
  TableId counter();
  void keep(TableId table);

  TraceBuilder builder_;
  ImportCounts& counts_;
  const Columns* columns_ = nullptr;
  CsvTable table_{};
  std::vector<std::string> fields_;
  std::unordered_map<std::string, uint32_t> shapes_;
  std::unordered_map<int64_t, int64_t> dispatches_;  // start times
  int64_t pid_ = 0;
  int64_t start_ns_ = 0;
  int64_t duration_ns_ = 0;
  bool exact_ = false;
  SpansOfSource spans_;
  uint64_t values_without_dispatch_ = 0;
  uint64_t unreadable_values_ = 0;  // counter values
  uint64_t unlike_ = 0;             // records whose number of fields differs from the header's
};

int64_t RocprofCsv::agent(std::string_view column) {
  const std::string_view name = text(column);
  const int64_t id = agentNumber(name);
  DeviceRow& device = builder_.deviceRow(id);
  if (device.backend == PlatformType::Unknown) {  // no agent table describes it
    device.backend = PlatformType::ROCm;
    device.name = builder_.text(integerOf(name) ? "agent " + std::string(name) : std::string(name));
    if (name.starts_with("CPU")) device.kind = DeviceKind::kCpu;
  }
  return id;
}

void RocprofCsv::agents() {
  RocprofAgent agent;
  agent.id = number(columns_->has("Logical_Node_Id") ? "Logical_Node_Id" : "Node_Id", -1);
  agent.gpu = text("Agent_Type") == "GPU";
  agent.cpu = text("Agent_Type") == "CPU";
  agent.ordinal = number("Logical_Node_Type_Id", -1);
  agent.name = text("Name");
  agent.product = text("Product_Name");
  agent.vendor = text("Vendor_Name");
  agent.gfx_version = number("Gfx_Target_Version");
  agent.compute_units = number("Cu_Count");
  agent.clock_mhz = number(agent.cpu ? "Max_Engine_Clk_Ccompute" : "Max_Engine_Clk_Fcompute");
  agent.wave_size = number("Wave_Front_Size");
  agent.waves_per_unit = number("Max_Waves_Per_Cu");
  agent.group_size = number("Workgroup_Max_Size");
  agent.domain = number("Domain", -1);
  agent.location = number("Location_Id", -1);
  if (agent.id >= 0) addRocprofAgent(agent, builder_);
}

TableId RocprofCsv::kernel() {
  const int64_t device = agent("Agent_Id");
  const auto size = [&](const char* x, const char* y, const char* z) {
    return std::array{number(x), number(y), number(z)};
  };
  const bool segments = columns_->has("Group_Segment_Size");
  builder_.rows.kernel.push(
      {.start_ns = start_ns_,
       .duration_ns = duration_ns_,
       .name = builder_.text(text("Kernel_Name")),
       .process_id = builder_.process(process()),
       .thread_id = builder_.thread(process(), number("Thread_Id")),
       .stream_id = builder_.stream(process(), device, 0,
                                    number(columns_->has("Stream_Id") ? "Stream_Id" : "Queue_Id")),
       .correlation_id = static_cast<uint64_t>(number("Correlation_Id")),
       .shape_id = builder_.shape(rocprofShape(
           {.grid = size("Grid_Size_X", "Grid_Size_Y", "Grid_Size_Z"),
            .group = size("Workgroup_Size_X", "Workgroup_Size_Y", "Workgroup_Size_Z"),
            .group_bytes = number(segments ? "Group_Segment_Size" : "LDS_Block_Size"),
            .private_bytes = number(segments ? "Private_Segment_Size" : "Scratch_Size"),
            .registers = std::clamp<int64_t>(number("VGPR_Count"), 0, 1 << 16) +
                         std::clamp<int64_t>(number("Accum_VGPR_Count"), 0, 1 << 16)}))});
  dispatches_.try_emplace(number("Dispatch_Id", -1), start_ns_);
  return TableId::kKernel;
}

/// Adds a counter value at the start of its dispatch. Older tables do not contain that time, so it
/// comes from the kernel trace.
TableId RocprofCsv::counter() {
  if (!columns_->has("Start_Timestamp")) {
    const auto it = dispatches_.find(number("Dispatch_Id", -1));
    if (it == dispatches_.end()) {
      ++values_without_dispatch_;
      return SourceRows::kNone;
    }
    start_ns_ = it->second;
    exact_ = false;
  }
  const std::optional<double> value = realNumber(text("Counter_Value"));
  if (!value) {
    ++unreadable_values_;
    return SourceRows::kNone;
  }
  const int64_t device = agent("Agent_Id");
  const CounterTrackId track = builder_.counterTrack({.name = builder_.text(text("Counter_Name")),
                                                      .process_id = builder_.process(process()),
                                                      .device_id = builder_.device(device)});
  builder_.rows.counter.push({.time_ns = start_ns_, .track_id = track, .value = *value});
  return TableId::kCounter;
}

TableId RocprofCsv::row(CsvTable table) {
  Trace& rows = builder_.rows;
  const auto correlation = static_cast<uint64_t>(number("Correlation_Id"));
  switch (table) {
    case CsvTable::kAgents:
      break;
    case CsvTable::kKernels:
      return kernel();
    case CsvTable::kCounters:
      return counter();
    case CsvTable::kCopies: {
      const std::string_view direction = text("Direction");
      const CopyKind kind = rocprofCopyKind(direction);
      const int64_t from = agent("Source_Agent_Id");
      const int64_t to = agent("Destination_Agent_Id");
      rows.copy.push(
          {.start_ns = start_ns_,
           .duration_ns = duration_ns_,
           .kind = kind,
           .process_id = builder_.process(process()),
           .stream_id = builder_.stream(process(), kind == CopyKind::kDeviceToHost ? from : to, 0,
                                        number("Stream_Id")),
           .correlation_id = correlation,
           .name = builder_.text(direction),
           .source_device_id = builder_.device(from),
           .destination_device_id = builder_.device(to)});
      return TableId::kCopy;
    }
    case CsvTable::kAllocations: {
      const std::string_view operation =
          columns_->has("Operation") ? text("Operation") : text("Kind");
      rows.memory_event.push(
          {.time_ns = start_ns_,
           .kind = rocprofMemoryKind(operation),
           .process_id = builder_.process(process()),
           .device_id = builder_.device(agent("Agent_Id")),
           .address = std::strtoull(std::string(text("Address")).c_str(), nullptr, 0),
           .bytes = static_cast<uint64_t>(std::max<int64_t>(number("Allocation_Size"), 0)),
           .correlation_id = correlation,
           .name = builder_.text(operation)});
      return TableId::kMemoryEvent;
    }
    case CsvTable::kCalls:
    case CsvTable::kOther: {
      const std::string_view domain = text(table == CsvTable::kCalls ? "Domain" : "Kind");
      const std::string_view name = text(table == CsvTable::kCalls ? "Function" : "Operation");
      const ThreadId thread = builder_.thread(process(), number("Thread_Id"));
      if (table == CsvTable::kCalls && !domain.starts_with("MARKER")) {
        rows.host_call.push({.start_ns = start_ns_,
                             .duration_ns = duration_ns_,
                             .name = builder_.text(name),
                             .process_id = builder_.process(process()),
                             .thread_id = thread,
                             .correlation_id = correlation,
                             .kind = rocprofCallKind(name)});
        return TableId::kHostCall;
      }
      rows.range.push({.start_ns = start_ns_,
                       .duration_ns = duration_ns_,
                       .kind = duration_ns_ == 0 ? RangeKind::kInstant : RangeKind::kRange,
                       .name = builder_.text(name),
                       .category = builder_.text(domain),
                       .process_id = builder_.process(process()),
                       .thread_id = thread,
                       .correlation_id = correlation});
      return TableId::kRange;
    }
  }
  return SourceRows::kNone;
}

/// Keeps all fields, by column name, except those that the row holds.
void RocprofCsv::keep(TableId table) {
  std::string pattern;  // equal for records of the same kind
  std::vector<int64_t> kept;
  std::vector<SourceGap> gaps;
  for (size_t i = 0; i < fields_.size(); ++i) {
    const std::string_view column =
        i < columns_->names().size() ? std::string_view(columns_->names()[i]) : std::string_view();
    const std::optional<int64_t> value = integerOf(fields_[i]);
    SourceGap gap = value ? SourceGap::kInteger : SourceGap::kText;
    if (exact_ && table != SourceRows::kNone && column == "Start_Timestamp") {
      gap = SourceGap::kTimeNanos;
    } else if (exact_ && table != SourceRows::kNone && table != TableId::kMemoryEvent &&
               table != TableId::kCounter && column == "End_Timestamp") {
      gap = SourceGap::kEndNanos;
    }
    pattern += static_cast<char>(gap);
    gaps.push_back(gap);
    if (gap == SourceGap::kInteger) kept.push_back(*value);
    if (gap == SourceGap::kText) kept.push_back(static_cast<int64_t>(builder_.text(fields_[i])));
  }
  pattern += static_cast<char>('0' + static_cast<int>(table_));
  const auto [it, fresh] = shapes_.try_emplace(pattern);
  if (fresh) {
    SourceShape shape;
    std::string piece = "{";
    const auto quoted = [](std::string_view name) {
      std::string out = "\"";
      for (const char c : name) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
      }
      return out + '"';
    };
    for (size_t i = 0; i < gaps.size(); ++i) {
      const std::string name =
          i < columns_->names().size() ? columns_->names()[i] : "column " + std::to_string(i + 1);
      piece += (i == 0 ? "" : ",") + quoted(name) + ":";
      shape.between.push_back(std::move(piece));
      shape.gaps.push_back({gaps[i], name});
      piece.clear();
    }
    shape.between.push_back(piece + "}");
    it->second = builder_.sourceShape(shape);
  }
  builder_.keep(table, it->second, kept);
}

Status RocprofCsv::read(ByteSource& source) {
  CsvReader reader(source);
  if (!reader.next(fields_)) return fail(ErrorCode::kNotATrace, "is an empty table");
  if (!fields_.empty() && fields_[0].starts_with("\xef\xbb\xbf")) fields_[0].erase(0, 3);
  for (std::string& name : fields_) {
    if (!mend(name, true)) damage.add(0, 0, "a column name is not text", 0);
  }
  if (!reader.problem().empty()) damage.add(0, 0, reader.problem());
  const Columns columns(fields_);
  const std::optional<CsvTable> table = tableOf(columns);
  if (!table) return fail(ErrorCode::kNotATrace, "does not have the columns of a rocprofv3 table");
  columns_ = &columns;
  table_ = *table;
  shapes_.clear();  // they belong to other columns
  while (!builder_.failed() && reader.next(fields_)) {
    ++counts_.events;
    if (!reader.problem().empty()) damage.add(reader.offset(), 0, reader.problem());
    // If a record's number of fields differs from the header's, its fields may belong to other
    // columns.
    const bool whole = fields_.size() == columns.names().size();
    bool sound = whole;
    for (std::string& field : fields_) sound = mend(field, false) && sound;
    if (!sound) ++unlike_;
    const std::optional<int64_t> start = integerOf(text("Start_Timestamp"));
    const std::optional<int64_t> end = integerOf(text("End_Timestamp"));
    const bool timed = whole && start && end && spans_.isTime(*start);
    start_ns_ = start.value_or(0);
    duration_ns_ = timed ? spans_.between(start_ns_, *end) : 0;
    exact_ = timed && endOf(start_ns_, duration_ns_) == *end;
    TableId made = SourceRows::kNone;
    if (whole && *table == CsvTable::kAgents) {
      agents();
    } else if (timed || (whole && !columns.has("Start_Timestamp"))) {
      made = row(*table);
    }
    keep(made);
    ++(made != SourceRows::kNone     ? counts_.rows
       : *table == CsvTable::kAgents ? counts_.metadata
                                     : counts_.others);
    builder_.added();
  }
  if (!reader.problem().empty()) damage.add(reader.bytes(), 0, reader.problem());
  counts_.bytes += reader.bytes();
  return {};
}

Status RocprofCsv::finish() {
  if (unlike_ > 0) {
    damage.add(0, 0,
               std::to_string(unlike_) +
                   " records have more or fewer fields than the header (those are in no table), "
                   "or are not UTF-8",
               0);
  }
  counts_.damage = damage.places();
  std::string lost = damage.summary();
  spans_.tell(counts_.notes, lost);
  reportRecordsWithoutTable(counts_, unreadable_values_, unreadable_values_, lost);
  if (values_without_dispatch_ > 0) {
    counts_.notes.push_back(
        std::to_string(values_without_dispatch_) +
        " counter values have no time: to give them that of their dispatch, also name the "
        "table of the dispatches (…kernel_trace.csv)");
    lost += (lost.empty() ? "" : "; ") + counts_.notes.back();
  }
  return builder_.finish(counts_, lost);
}

/// Result of parsing the first bytes of a table.
struct Head {
  std::optional<CsvTable> table;
  int64_t pid = 0;
};

class HeadSource : public ByteSource {
 public:
  explicit HeadSource(std::string_view head) : head_(head) {}
  Result<size_t> read(std::span<uint8_t> out) override {
    const size_t n = std::min(out.size(), head_.size());
    std::copy_n(head_.begin(), n, out.begin());
    head_.remove_prefix(n);
    return n;
  }

 private:
  std::string_view head_;
};

Head headOf(const ImportInput& input) {
  Head head;
  std::string_view text = input.head;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  // A table of rocprofv3 starts with a column name.
  if (text.empty() || (text[0] != '"' && (text[0] < 'A' || text[0] > 'Z'))) return head;
  HeadSource source(text);
  CsvReader reader(source);
  std::vector<std::string> fields;
  if (!reader.next(fields)) return head;
  const Columns columns(fields);
  head.table = tableOf(columns);
  const int at = columns.find("Process_Id");
  if (head.table && at >= 0 && reader.next(fields) && static_cast<size_t>(at) < fields.size()) {
    head.pid = integerOf(fields[static_cast<size_t>(at)]).value_or(0);
  }
  return head;
}

bool recognisesRocprofCsv(const ImportInput& input) { return headOf(input).table.has_value(); }

Result<ImportCounts> runRocprofCsv(const ImportInput& input, TraceWriter& writer, Trace facts) {
  struct File {
    std::string path;
    std::string place;
    Head head;
  };
  std::vector<File> files = {{input.path, input.place, headOf(input)}};
  for (const std::string& path : input.options.more) {
    TS_TRY(const ImportInput other, ImportInput::open(path));
    files.push_back({path, path, headOf(other)});
    if (!files.back().head.table) {
      return fail(ErrorCode::kNotATrace, "is not a rocprofv3 table, but the first file is", path);
    }
  }
  std::stable_sort(files.begin(), files.end(),
                   [](const File& a, const File& b) { return a.head.table < b.head.table; });
  ImportCounts counts;
  RocprofCsv csv(writer, std::move(facts), counts);
  for (const File& file : files) {
    if (file.head.pid != 0) csv.setProcess(file.head.pid);
  }
  for (const File& file : files) {
    TS_TRY(const std::unique_ptr<ByteSource> source, ByteSource::open(file.place, file.path));
    const uint64_t before = counts.events;
    TS_CHECK_OK(csv.read(*source));
    if (files.size() > 1) {
      counts.notes.push_back(std::to_string(counts.events - before) + " " +
                             std::string(kTitles[static_cast<size_t>(*file.head.table)]) +
                             " from " + file.path);
    }
  }
  TS_CHECK_OK(csv.finish());
  return counts;
}

}  // namespace

Result<ImportCounts> importRocprofCsv(ByteSource& source, TraceWriter& writer, Trace facts) {
  ImportCounts counts;
  RocprofCsv csv(writer, std::move(facts), counts);
  TS_CHECK_OK(csv.read(source));
  TS_CHECK_OK(csv.finish());
  return counts;
}

constinit const Importer kRocprofCsvImporter = {"rocprofv3 CSV", "", recognisesRocprofCsv,
                                                runRocprofCsv, true};

}  // namespace tracesmith::import
