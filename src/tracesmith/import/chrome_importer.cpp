// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/chrome_importer.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "tracesmith/base/hash.hpp"
#include "tracesmith/import/chrome_categories.hpp"
#include "tracesmith/import/execution_trace_join.hpp"
#include "tracesmith/import/json_events.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::import {
namespace {

constexpr int64_t kMicrosecond = 1000;
constexpr int64_t kLastTimeNs = int64_t{1} << 62;
constexpr size_t kPortionRows = 1u << 18;     // two blocks of a table
constexpr size_t kPortionValues = 1u << 23;   // beside them
constexpr size_t kLongestMember = 16u << 20;  // a string of a trace
constexpr size_t kCacheSlots = 256;
constexpr std::string_view kNodeAttribute = "execution_trace.node";
constexpr std::string_view kRestOfNodes = "execution_trace.rest";

class ChromeImporter {
 public:
  ChromeImporter(TraceWriter& writer, Trace delta, ChromeDialect dialect)
      : writer_(writer),
        delta_(std::move(delta)),
        dialect_(dialect),
        unit_ns_(dialect == ChromeDialect::kMcTracer ? 1 : kMicrosecond) {
    if (dialect == ChromeDialect::kAscend) platform_ = PlatformType::Ascend;
    if (dialect == ChromeDialect::kMcTracer) platform_ = PlatformType::MACA;
  }

  /// Operators get the nodes of an execution trace as attributes.
  void joinWith(ExecutionTraceJoin* join) { join_ = join; }
  void member(std::string_view name, std::string_view raw);
  void event(const ChromeEvent& event);
  Status finish(const JsonEvents& document);
  const Status& status() const { return status_; }
  ImportCounts counts;
  std::vector<SourceDamage> lost_members;

 private:
  /// What a shape of events becomes.
  struct Plan {
    bool known = false;
    bool by_value = false;              ///< its rows' table depends on their values
    TableId table = SourceRows::kNone;  ///< of its rows
    ChromeKind kind{};
    StringId category{};
    std::vector<SourceGap> gaps;  ///< of its values, those of the row's columns included
    uint32_t beside_row = 0;      ///< source shape: with the row's columns
    uint32_t alone = 0;           ///< source shape: without
  };
  Plan& plan(const EventShape& shape);
  Plan& planByValue(const EventShape& shape);
  void makePlan(Plan& plan, const EventShape& shape, TableId table);
  bool isByValue(const EventShape& shape) const;
  TableId tableByValue(const EventShape& shape);
  SourceGap gapOf(const ShapeValue& value, TableId table) const;
  bool timeOf(const JsonToken& time, int64_t& ns) const;
  TableId tableOf(const EventShape& shape) const;
  uint32_t sourceShape(const EventShape& shape, const std::vector<SourceGap>& gaps);
  bool holds(const Plan& plan, const EventShape& shape) const;
  void keep(TableId table, const EventShape& shape, const std::vector<SourceGap>* gaps,
            uint32_t source_shape);

  // What "pid" and "tid" stand for.
  ProcessId process(const JsonToken& pid);
  ThreadId thread(ProcessId process, const JsonToken& tid);
  DeviceId device(int64_t ordinal);
  StreamId stream(ProcessId owner, int64_t device_ordinal, int64_t context, int64_t number);
  StringId text(const JsonToken& token);
  ShapeId launchShape();

  struct Place {
    StreamId stream{};
    ProcessId process{};
    ThreadId thread{};
    uint64_t correlation = 0;
  };
  Place deviceSide();
  uint64_t correlation() const;
  void row(const Plan& plan, int64_t start_ns, int64_t duration_ns);
  void counter(int64_t time_ns);
  void attachNode(uint64_t range_row);
  void name();
  void losses(const std::vector<SourceDamage>& damage);
  void findLateLaunches();
  void portion();
  void settle();
  const JsonToken& value(EventField field) const { return (*e_)[field]; }

  TraceWriter& writer_;
  Trace delta_;
  ChromeDialect dialect_;
  ExecutionTraceJoin* join_ = nullptr;
  uint64_t range_rows_ = 0;
  int64_t unit_ns_;  // of the times of events
  SourceRows sources_;
  Status status_;
  const ChromeEvent* e_ = nullptr;
  std::string room_;
  size_t rows_ = 0;
  size_t values_ = 0;
  int64_t base_ns_ = 0;
  int64_t first_ns_ = 0;
  bool any_time_ = false;
  PlatformType platform_ = PlatformType::Unknown;
  ProcessId main_process_{};
  uint64_t ambiguous_ = 0;  // correlation ids of several processes

  std::vector<Plan> plans_;
  std::map<std::pair<uint32_t, TableId>, Plan> plans_by_value_;
  Plan unknown_;
  std::map<std::string, int64_t, std::less<>> npus_;  // by pid: devices of Ascend's timelines
  std::unordered_map<std::string, uint32_t> source_shapes_;
  std::map<std::string, ProcessId, std::less<>> processes_;
  std::string last_pid_;
  ProcessId last_process_{};
  struct ThreadSlot {
    ProcessId process{};
    int64_t tid = 0;
    ThreadId id{};
  };
  std::array<ThreadSlot, kCacheSlots> thread_slots_;
  std::map<std::pair<ProcessId, std::string>, ThreadId> threads_;
  std::vector<ProcessId> process_of_;  // of threads, by their place
  std::map<int64_t, DeviceRow> devices_;
  std::map<std::tuple<ProcessId, DeviceId, int64_t>, ContextRow> contexts_;
  struct StreamSlot {
    int64_t device = 0, number = 0;
    ProcessId process{};
    StreamId id{};
  };
  std::array<StreamSlot, kCacheSlots> stream_slots_;
  std::map<std::tuple<ProcessId, DeviceId, int64_t>, StreamRow> streams_;
  StringTable launch_shapes_;  // their ids are those of the shapes
  std::map<std::string, CounterTrackId, std::less<>> tracks_;
  std::unordered_map<uint64_t, ThreadId> launched_by_;  // correlation id to thread
};

StringId ChromeImporter::text(const JsonToken& token) {
  return delta_.strings.intern(textOf(token, room_));
}

// --- Shapes ----------------------------------------------------------------------------------

bool has(const EventShape& shape, EventField field) {
  return shape.place[static_cast<size_t>(field)] >= 0;
}

/// Whether only the values of such an event tell what it is.
bool ChromeImporter::isByValue(const EventShape& shape) const {
  if (shape.phase != 'X') return false;
  return has(shape, EventField::kArgTaskType) || dialect_ == ChromeDialect::kMcTracer;
}

TableId ChromeImporter::tableByValue(const EventShape& shape) {
  if (has(shape, EventField::kArgTaskType)) {
    return ascendTaskTable(value(EventField::kArgTaskType).raw);
  }
  return mcTracerTable(value(EventField::kName).raw, shape.category,
                       has(shape, EventField::kArgGrid) && has(shape, EventField::kArgMemory));
}

TableId ChromeImporter::tableOf(const EventShape& shape) const {
  switch (shape.phase) {
    case 'X':
      if (has(shape, EventField::kArgLevel) && has(shape, EventField::kArgMode)) {
        return TableId::kHostCall;  // of CANN
      }
      switch (kindOf(shape.category)) {
        case ChromeKind::kKernel:
          return TableId::kKernel;
        case ChromeKind::kCopy:
          return TableId::kCopy;
        case ChromeKind::kFill:
          return TableId::kFill;
        case ChromeKind::kSync:
          return TableId::kSync;
        case ChromeKind::kHostCall:
          return TableId::kHostCall;
        case ChromeKind::kDeviceRange:
        case ChromeKind::kHostRange:
          return TableId::kRange;
      }
      return SourceRows::kNone;
    case 'i':
    case 'I':
      if (shape.place[static_cast<size_t>(EventField::kArgAddress)] >= 0 &&
          shape.place[static_cast<size_t>(EventField::kArgBytes)] >= 0 &&
          shape.category == "cpu_instant_event") {
        return TableId::kMemoryEvent;
      }
      return TableId::kRange;
    case 'R':
    case 'B':
    case 'E':
      return TableId::kRange;
    case 's':
    case 't':
    case 'f':
      return TableId::kFlowEvent;
    default:
      return SourceRows::kNone;
  }
}

/// What a value is without a column that holds it.
SourceGap keptAs(const ShapeValue& value) {
  switch (value.type) {
    case JsonType::kInteger:
      return SourceGap::kInteger;
    case JsonType::kDecimal:
      return SourceGap::kDecimal;
    case JsonType::kText:
      return SourceGap::kText;
    case JsonType::kOther:
      break;
  }
  return SourceGap::kJson;
}

/// The column of a row of `table` that holds a value of a shape; keptAs() where there is none.
SourceGap ChromeImporter::gapOf(const ShapeValue& value, TableId table) const {
  const bool integer = value.type == JsonType::kInteger;
  const bool decimal = value.type == JsonType::kDecimal;
  const bool spans = table != TableId::kMemoryEvent && table != TableId::kFlowEvent;
  const bool nanos = unit_ns_ == 1;
  switch (value.field) {
    case EventField::kTime:
      if (integer && nanos) return SourceGap::kTimeNanos;
      if (integer) return SourceGap::kTimeMicros;
      if (decimal && !nanos) return SourceGap::kTimeDecimal;
      break;
    case EventField::kDuration:
      if (integer && spans && nanos) return SourceGap::kDurationNanos;
      if (integer && spans) return SourceGap::kDurationMicros;
      if (decimal && spans && !nanos) return SourceGap::kDurationDecimal;
      break;
    case EventField::kName:
      if (value.type == JsonType::kText) return SourceGap::kName;
      break;
    case EventField::kArgCorrelation:
      if (integer && table != TableId::kRange && spans) return SourceGap::kCorrelation;
      break;
    case EventField::kArgBytes:
      if (integer && (table == TableId::kCopy || table == TableId::kFill)) return SourceGap::kBytes;
      break;
    case EventField::kId:
      if (integer && table == TableId::kFlowEvent) return SourceGap::kFlowId;
      break;
    default:
      break;
  }
  return keptAs(value);
}

uint32_t ChromeImporter::sourceShape(const EventShape& shape, const std::vector<SourceGap>& gaps) {
  SourceShape source;
  source.between = shape.between;
  SourceRows::Shape known;
  std::set<std::string> seen;
  for (size_t i = 0; i < gaps.size(); ++i) {
    std::string key = shape.values[i].key;
    // A key may come twice: each has a leaf of its own.
    for (int times = 2; isKept(gaps[i]) && !seen.insert(leafName(gaps[i], key)).second; ++times) {
      key = shape.values[i].key + "#" + std::to_string(times);
    }
    if (isKept(gaps[i])) known.leaves.push_back(delta_.strings.intern(leafName(gaps[i], key)));
    source.gaps.push_back({gaps[i], std::move(key)});
  }
  known.text = delta_.strings.intern(source.text());
  sources_.shapes.push_back(std::move(known));
  return static_cast<uint32_t>(sources_.shapes.size() - 1);
}

ChromeImporter::Plan& ChromeImporter::plan(const EventShape& shape) {
  if (shape.id == EventShape::kUnknown) {
    const uint32_t whole = unknown_.alone;
    unknown_ = {.known = true, .by_value = isByValue(shape), .alone = whole};
    makePlan(unknown_, shape, tableOf(shape));
    return unknown_;
  }
  if (plans_.size() <= shape.id) plans_.resize(shape.id + 1);
  Plan& p = plans_[shape.id];
  if (!p.known) {
    p = {.known = true, .by_value = isByValue(shape)};
    makePlan(p, shape, tableOf(shape));
  }
  return p;
}

/// The plan of this event, where others of its shape may have another.
ChromeImporter::Plan& ChromeImporter::planByValue(const EventShape& shape) {
  const TableId table = tableByValue(shape);
  if (shape.id == EventShape::kUnknown) {
    unknown_.table = table;
    return unknown_;
  }
  const auto [it, fresh] = plans_by_value_.try_emplace({shape.id, table});
  if (fresh) {
    it->second.known = true;
    makePlan(it->second, shape, table);
  }
  return it->second;
}

void ChromeImporter::makePlan(Plan& p, const EventShape& shape, TableId table) {
  p.table = table;
  p.kind = kindOf(shape.category);
  p.category = delta_.strings.intern(shape.category);
  if (shape.id == EventShape::kUnknown) return;
  // Of several values with one key only the last is in the row.
  for (size_t i = 0; i < shape.values.size(); ++i) {
    const ShapeValue& v = shape.values[i];
    const bool in_row = table != SourceRows::kNone && v.field != EventField::kNone &&
                        shape.place[static_cast<size_t>(v.field)] == static_cast<int16_t>(i);
    p.gaps.push_back(in_row ? gapOf(v, table) : keptAs(v));
  }
}

/// Whether the row's columns say all that the plan leaves to them.
bool ChromeImporter::holds(const Plan& plan, const EventShape& shape) const {
  if (shape.id == EventShape::kUnknown) return false;
  for (const EventField field : {EventField::kDuration, EventField::kArgCorrelation,
                                 EventField::kArgBytes, EventField::kId}) {
    const int16_t at = shape.place[static_cast<size_t>(field)];
    if (at < 0 || isKept(plan.gaps[static_cast<size_t>(at)])) continue;
    const JsonToken& token = e_->values[static_cast<size_t>(at)];
    if (token.value < 0) return false;
    const bool whole = token.type == JsonType::kInteger;
    if (field == EventField::kDuration && whole && token.value > INT64_MAX / kMicrosecond) {
      return false;
    }
  }
  return true;
}

/// Keeps what the row that has just been added (of `table`; none: there is no row) does not hold.
void ChromeImporter::keep(TableId table, const EventShape& shape,
                          const std::vector<SourceGap>* gaps, uint32_t source_shape) {
  SourceTable& rows = sources_.of(table);
  rows.shape.push_back(source_shape);
  rows.values.push_back(static_cast<uint32_t>(rows.value.size()));
  const size_t before = rows.value.size();
  if (shape.id == EventShape::kUnknown) {
    // Put together anew: what was mended in it (NaN) is not so in the document.
    std::string whole;
    for (size_t i = 0; i < shape.between.size(); ++i) {
      whole += shape.between[i];
      if (i >= e_->values.size()) continue;
      const JsonToken& token = e_->values[i];
      if (token.text) whole += '"';
      whole += token.raw;
      if (token.text) whole += '"';
    }
    rows.value.push_back(static_cast<int64_t>(delta_.strings.intern(whole)));
  } else {
    for (size_t i = 0; i < shape.values.size(); ++i) {
      if (gaps != nullptr && !isKept((*gaps)[i])) continue;
      const JsonToken& token = e_->values[i];
      switch (shape.values[i].type) {
        case JsonType::kInteger:
        case JsonType::kDecimal:
          rows.value.push_back(token.value);
          break;
        case JsonType::kText:
          rows.value.push_back(static_cast<int64_t>(text(token)));
          break;
        case JsonType::kOther: {
          std::string_view raw = token.raw;
          if (token.text) raw = {raw.data() - 1, raw.size() + 2};  // with its quotes
          rows.value.push_back(static_cast<int64_t>(delta_.strings.intern(raw)));
          break;
        }
      }
    }
  }
  values_ += rows.value.size() - before;
}

// --- Processes, threads, devices, streams ----------------------------------------------------

ProcessId ChromeImporter::process(const JsonToken& pid) {
  if (pid.raw == last_pid_ && last_process_ != ProcessId::kNone) return last_process_;
  last_pid_ = pid.raw;
  const auto known = processes_.find(pid.raw);
  if (known != processes_.end()) return last_process_ = known->second;
  const auto id = idAt<ProcessId>(processes_.size());
  processes_.emplace(pid.raw, id);
  ProcessRow row{.id = id};
  const int64_t number = pid.integer(-1);
  if (number >= 0 && number <= UINT32_MAX) {
    row.pid = static_cast<uint32_t>(number);
  } else {
    row.command_line = text(pid);
  }
  row.seen_by = delta_.strings.intern("import");
  delta_.process.push(row);
  return last_process_ = id;
}

ThreadId ChromeImporter::thread(ProcessId process, const JsonToken& tid) {
  const bool integer = tid.type == JsonType::kInteger;
  ThreadSlot& slot =
      thread_slots_[(static_cast<uint64_t>(tid.value) * 31 + static_cast<uint32_t>(process)) %
                    kCacheSlots];
  if (integer && slot.id != ThreadId::kNone && slot.process == process && slot.tid == tid.value) {
    return slot.id;
  }
  const auto [it, fresh] = threads_.try_emplace({process, std::string(tid.raw)});
  if (fresh) {
    it->second = idAt<ThreadId>(threads_.size() - 1);
    process_of_.push_back(process);
    ThreadRow row{.id = it->second, .process_id = process};
    const int64_t number = tid.integer(INT64_MIN);
    if (number == INT64_MIN) {
      row.name = text(tid);
    } else {
      row.tid = static_cast<uint32_t>(number);
    }
    delta_.thread.push(row);
  }
  if (integer) slot = {process, tid.value, it->second};
  return it->second;
}

DeviceId ChromeImporter::device(int64_t ordinal) {
  const auto [it, fresh] = devices_.try_emplace(ordinal);
  DeviceRow& row = it->second;
  if (fresh) {
    row.id = idAt<DeviceId>(devices_.size() - 1);
    row.kind = DeviceKind::kGpu;
    row.ordinal = static_cast<uint32_t>(ordinal);
    row.name = delta_.strings.intern("device " + std::to_string(ordinal));
    delta_.device.push(row);
  }
  return row.id;
}

/// Streams of the process that is profiled are found whether or not it is already known which one
/// that is; settle() tells them in the end.
StreamId ChromeImporter::stream(ProcessId owner, int64_t device_ordinal, int64_t context,
                                int64_t number) {
  if (owner == main_process_) owner = ProcessId::kNone;
  StreamSlot& slot =
      stream_slots_[(static_cast<uint64_t>(device_ordinal) * 61 + static_cast<uint64_t>(number) +
                     static_cast<uint32_t>(owner) * 7) %
                    kCacheSlots];
  if (slot.id != StreamId::kNone && slot.device == device_ordinal && slot.number == number &&
      slot.process == owner) {
    return slot.id;
  }
  const DeviceId on = device(device_ordinal);
  const auto [it, fresh] = streams_.try_emplace({owner, on, number});
  slot = {device_ordinal, number, owner, it->second.id};
  if (!fresh) return it->second.id;
  it->second.id = slot.id = idAt<StreamId>(streams_.size() - 1);
  const auto [in, new_context] = contexts_.try_emplace({owner, on, context});
  if (new_context) {
    in->second = {.id = idAt<ContextId>(contexts_.size() - 1),
                  .process_id = owner,
                  .handle = static_cast<uint64_t>(context),
                  .device_id = on};
    delta_.context.push(in->second);
  }
  it->second.process_id = owner;
  it->second.context_id = in->second.id;
  it->second.device_id = on;
  it->second.handle = static_cast<uint64_t>(number);
  it->second.ordinal = static_cast<uint32_t>(number);
  delta_.stream.push(it->second);
  return it->second.id;
}

/// Element `index` of a list of numbers, or of {"x": …, "y": …, "z": …}, as it stands in the
/// document; 1 where there is none.
int64_t dimension(std::string_view raw, size_t index) {
  const char next = raw.substr(0, 1) == "{" ? ':' : ',';
  size_t at = next == ':' ? raw.find(':') : raw.find('[');
  for (size_t i = 0; at != std::string_view::npos && i < index; ++i) at = raw.find(next, at + 1);
  if (at == std::string_view::npos) return 1;
  ++at;
  while (at < raw.size() && static_cast<uint8_t>(raw[at]) <= ' ') ++at;
  return JsonToken{.raw = raw.substr(at)}.integer(1);
}

/// The number of a member of an object, as it stands in the document; 0 where there is none.
int64_t memberOf(std::string_view raw, std::string_view name) {
  const size_t at = raw.find("\"" + std::string(name) + "\"");
  const size_t colon = at == std::string_view::npos ? at : raw.find(':', at);
  if (colon == std::string_view::npos) return 0;
  size_t number = colon + 1;
  while (number < raw.size() && static_cast<uint8_t>(raw[number]) <= ' ') ++number;
  return JsonToken{.raw = raw.substr(number)}.integer(0);
}

/// The launch shape that the arguments tell; none where they tell of no grid.
ShapeId ChromeImporter::launchShape() {
  const JsonToken& grid = value(EventField::kArgGrid);
  if (!grid) return ShapeId::kNone;
  const JsonToken& block = value(EventField::kArgBlock);
  const JsonToken& shared = value(EventField::kArgSharedMemory);
  const JsonToken& registers = value(EventField::kArgRegisters);
  const JsonToken& memory = value(EventField::kArgMemory);  // mcTracer's, with all of them
  room_ = grid.raw;
  for (const JsonToken* part : {&block, &shared, &registers, &memory}) {
    room_.append("|").append(part->raw);
  }
  const size_t before = launch_shapes_.size();
  const auto id = ShapeId{static_cast<uint32_t>(launch_shapes_.intern(room_))};
  if (launch_shapes_.size() == before) return id;
  const auto local = [&](size_t i) { return static_cast<uint32_t>(dimension(block.raw, i)); };
  const auto global = [&](size_t i) {
    return static_cast<uint64_t>(dimension(grid.raw, i)) * local(i);
  };
  delta_.launch_shape.push(
      {.dimensions = 3,
       .global_x = global(0),
       .global_y = global(1),
       .global_z = global(2),
       .local_x = local(0),
       .local_y = local(1),
       .local_z = local(2),
       .static_shared_bytes =
           static_cast<uint32_t>(memory ? memberOf(memory.raw, "static_shared") : shared.integer()),
       .dynamic_shared_bytes = static_cast<uint32_t>(memberOf(memory.raw, "dynamic_shared")),
       .registers_per_thread = static_cast<uint32_t>(
           memory ? memberOf(memory.raw, "registers_per_thread") : registers.integer())});
  return id;
}

uint64_t ChromeImporter::correlation() const {
  return static_cast<uint64_t>(std::max<int64_t>(value(EventField::kArgCorrelation).integer(), 0));
}

ChromeImporter::Place ChromeImporter::deviceSide() {
  Place place;
  place.correlation = correlation();
  const auto launch = launched_by_.find(place.correlation);
  place.process = main_process_;
  if (place.correlation != 0 && launch != launched_by_.end() && launch->second != ThreadId::kNone) {
    place.thread = launch->second;
    place.process = process_of_[indexOf(launch->second)];
  }
  const JsonToken& ordinal = value(EventField::kArgDevice);
  const JsonToken& number = value(EventField::kArgStream);
  int64_t device_ordinal = ordinal ? ordinal.integer(-1) : value(EventField::kProcess).integer(-1);
  if (!ordinal && value(EventField::kArgTaskType)) {
    if (platform_ == PlatformType::Unknown) platform_ = PlatformType::Ascend;
    // The pid is a number made up for the picture; "NPU n" labels it, if it comes before.
    device_ordinal = npus_
                         .try_emplace(std::string(value(EventField::kProcess).raw),
                                      static_cast<int64_t>(npus_.size()))
                         .first->second;
  } else if (!ordinal && dialect_ == ChromeDialect::kMcTracer) {
    device_ordinal = 0;  // of the arguments of its kernels, none says so
  }
  place.stream = stream(place.process, device_ordinal, value(EventField::kArgContext).integer(),
                        number ? number.integer(-1) : value(EventField::kThread).integer(-1));
  return place;
}

// --- Rows ------------------------------------------------------------------------------------

void ChromeImporter::row(const Plan& plan, int64_t start_ns, int64_t duration_ns) {
  const StringId title = text(value(EventField::kName));
  const auto bytes = [&] {
    return static_cast<uint64_t>(std::max<int64_t>(value(EventField::kArgBytes).integer(), 0));
  };
  // What copies, fills and syncs have in common.
  const auto place = [&](auto row) {
    const Place at = deviceSide();
    row.start_ns = start_ns;
    row.duration_ns = duration_ns;
    row.process_id = at.process;
    row.thread_id = at.thread;
    row.stream_id = at.stream;
    row.correlation_id = at.correlation;
    row.name = title;
    return row;
  };
  switch (plan.table) {
    case TableId::kKernel: {
      KernelRow kernel = place(KernelRow{});
      kernel.shape_id = launchShape();
      delta_.kernel.push(kernel);
      return;
    }
    case TableId::kCopy: {
      CopyRow copy = place(CopyRow{});
      const std::string_view task = value(EventField::kArgTaskType).raw;
      copy.kind = task.empty() ? copyKindOf(value(EventField::kName).raw)
                               : ascendCopyKind(value(EventField::kName).raw, task);
      copy.bytes = bytes();
      delta_.copy.push(copy);
      return;
    }
    case TableId::kFill: {
      FillRow fill = place(FillRow{});
      fill.bytes = bytes();
      delta_.fill.push(fill);
      return;
    }
    case TableId::kSync: {
      SyncRow sync = place(SyncRow{});
      const std::string_view task = value(EventField::kArgTaskType).raw;
      sync.kind = task.empty() ? syncKindOf(value(EventField::kName).raw) : ascendSyncKind(task);
      // Waits of the host, which Kineto draws on streams; Ascend's tasks are the device's.
      if (task.empty() &&
          (sync.kind == SyncKind::kStreamWait || sync.kind == SyncKind::kDeviceWait ||
           sync.kind == SyncKind::kEventWait)) {
        sync.flags = op_flags::kHostSide;
      }
      delta_.sync.push(sync);
      return;
    }
    case TableId::kHostCall: {
      const ProcessId in = process(value(EventField::kProcess));
      const ThreadId by = thread(in, value(EventField::kThread));
      if (main_process_ == ProcessId::kNone) main_process_ = in;
      const uint64_t id = correlation();
      if (id != 0) {
        const auto [it, fresh] = launched_by_.try_emplace(id, by);
        if (!fresh && it->second != ThreadId::kNone && process_of_[indexOf(it->second)] != in) {
          it->second = ThreadId::kNone;  // whose work it is can not be told
          ++ambiguous_;
        }
      }
      delta_.host_call.push({.start_ns = start_ns,
                             .duration_ns = duration_ns,
                             .name = title,
                             .process_id = in,
                             .thread_id = by,
                             .correlation_id = id,
                             .kind = callKindOf(value(EventField::kName).raw)});
      return;
    }
    case TableId::kMemoryEvent: {
      const ProcessId in = process(value(EventField::kProcess));
      const int64_t size = value(EventField::kArgBytes).integer();
      // PyTorch's DeviceType: 0 is the host.
      const bool on_device = value(EventField::kArgDeviceType).integer(0) != 0;
      const int64_t ordinal = value(EventField::kArgDeviceId).integer(-1);
      delta_.memory_event.push(
          {.time_ns = start_ns,
           .kind = size < 0 ? MemoryKind::kFree : MemoryKind::kAlloc,
           .process_id = in,
           .thread_id = thread(in, value(EventField::kThread)),
           .device_id = on_device && ordinal >= 0 ? device(ordinal) : DeviceId::kNone,
           .address = static_cast<uint64_t>(value(EventField::kArgAddress).integer()),
           .bytes = static_cast<uint64_t>(size < 0 ? -size : size),
           .name = title});
      return;
    }
    case TableId::kFlowEvent: {
      const JsonToken& id = value(EventField::kId);
      const ProcessId in = process(value(EventField::kProcess));
      const char phase = e_->phase();
      delta_.flow_event.push({.time_ns = start_ns,
                              .end = phase == 's'   ? FlowEnd::kBegin
                                     : phase == 'f' ? FlowEnd::kEnd
                                                    : FlowEnd::kStep,
                              .flow_id = id.type == JsonType::kInteger
                                             ? static_cast<uint64_t>(id.value)
                                             : hash64(asBytes(id.raw)),
                              .name = title,
                              .category = plan.category,
                              .process_id = in,
                              .thread_id = thread(in, value(EventField::kThread))});
      return;
    }
    default:
      break;
  }
  RangeRow range{
      .start_ns = start_ns, .duration_ns = duration_ns, .name = title, .category = plan.category};
  const char phase = e_->phase();
  if (phase == 'X' && plan.kind == ChromeKind::kDeviceRange) {
    const Place at = deviceSide();
    range.process_id = at.process;
    range.stream_id = at.stream;
  } else {
    range.kind = phase == 'X'   ? RangeKind::kRange
                 : phase == 'B' ? RangeKind::kBegin
                 : phase == 'E' ? RangeKind::kEnd
                                : RangeKind::kInstant;
    range.process_id = process(value(EventField::kProcess));
    range.thread_id = thread(range.process_id, value(EventField::kThread));
  }
  delta_.range.push(range);
}

void ChromeImporter::attachNode(uint64_t range_row) {
  const std::string_view node = join_->nodeOf(value(EventField::kArgExternalId).integer(),
                                              value(EventField::kArgRecordFunction).integer(),
                                              textOf(value(EventField::kName), room_));
  if (node.empty()) return;
  delta_.attribute.push({.table = static_cast<uint32_t>(TableId::kRange),
                         .row_number = range_row,
                         .key = delta_.strings.intern(kNodeAttribute),
                         .value = delta_.strings.intern(node)});
}

/// A value for each argument that is a number.
void ChromeImporter::counter(int64_t time_ns) {
  const ProcessId in = process(value(EventField::kProcess));
  const std::string title(textOf(value(EventField::kName), room_));
  size_t arguments = 0;
  for (const ShapeValue& v : e_->shape->values) arguments += v.argument ? 1 : 0;
  for (size_t i = 0; i < e_->values.size(); ++i) {
    const ShapeValue& v = e_->shape->values[i];
    if (!v.argument || !e_->values[i].isNumber()) continue;
    std::string key = title;
    if (arguments > 1) key.append(" ").append(v.key.substr(5));  // without "args."
    const auto [it, fresh] =
        tracks_.try_emplace(std::to_string(static_cast<uint32_t>(in)) + " " + key);
    if (fresh) {
      it->second = idAt<CounterTrackId>(tracks_.size() - 1);
      delta_.counter_track.push({.name = delta_.strings.intern(key), .process_id = in});
    }
    delta_.counter.push({.time_ns = time_ns,
                         .track_id = it->second,
                         .value = std::strtod(std::string(e_->values[i].raw).c_str(), nullptr)});
    ++rows_;
  }
}

/// Names of processes and threads.
void ChromeImporter::name() {
  const JsonToken& given = value(EventField::kArgName);
  const std::string_view what = value(EventField::kName).raw;
  if (what == "process_labels") {
    const int64_t npu = ascendDevice(value(EventField::kArgLabels).raw);
    if (npu >= 0) npus_[std::string(value(EventField::kProcess).raw)] = npu;
  }
  if (!given) return;
  if (what == "process_name") {
    const JsonToken& pid = value(EventField::kProcess);
    const ProcessId id = process(pid);
    const int64_t number = pid.integer(-1);
    delta_.process.push(
        {.id = id,
         .pid = number > 0 && number <= UINT32_MAX ? static_cast<uint32_t>(number) : 0,
         .command_line = text(given),
         .seen_by = delta_.strings.intern("import")});
  } else if (what == "thread_name") {
    const ProcessId in = process(value(EventField::kProcess));
    delta_.thread.push({.id = thread(in, value(EventField::kThread)),
                        .process_id = in,
                        .tid = static_cast<uint32_t>(value(EventField::kThread).integer()),
                        .name = text(given)});
  }
}

/// Whether `time` is one, and which.
bool ChromeImporter::timeOf(const JsonToken& time, int64_t& ns) const {
  // Beyond 146 years on either side of 0 it is none that a clock gave.
  const auto possible = [&] { return ns > -kLastTimeNs && ns < kLastTimeNs; };
  if (time.isNumber()) {
    if (time.type == JsonType::kDecimal && unit_ns_ == kMicrosecond) {
      ns = time.value;
      return possible();
    }
    if (time.type == JsonType::kInteger) {
      return !__builtin_mul_overflow(time.value, unit_ns_, &ns) && possible();
    }
  } else if (!time.text || time.raw.empty() || time.raw[0] < '0' || time.raw[0] > '9') {
    return false;
  }
  ns = time.nanoseconds(unit_ns_);  // also within quotes, as Ascend writes it
  return ns != 0 && possible();
}

void ChromeImporter::event(const ChromeEvent& event) {
  e_ = &event;
  const EventShape& shape = *event.shape;
  Plan* chosen = &plan(shape);
  if (chosen->by_value) chosen = &planByValue(shape);
  Plan& p = *chosen;
  ++counts.events;
  int64_t time_ns = 0;
  const bool timed = timeOf(value(EventField::kTime), time_ns);
  TableId table = timed ? p.table : SourceRows::kNone;
  if (timed && !any_time_) {
    first_ns_ = time_ns;
    any_time_ = true;
  }
  if (table != SourceRows::kNone) {
    row(p, time_ns, std::max<int64_t>(value(EventField::kDuration).nanoseconds(unit_ns_), 0));
    ++rows_;
    ++counts.rows;
    if (table == TableId::kRange) {
      if (join_ != nullptr && shape.phase == 'X') attachNode(range_rows_);
      ++range_rows_;
    }
  } else if (shape.phase == 'C' && timed) {
    counter(time_ns);
    ++counts.rows;
  } else if (shape.phase == 'M') {
    name();
    ++counts.metadata;
  } else {
    ++counts.others;
  }
  const bool in_row = table != SourceRows::kNone && holds(p, shape);
  uint32_t& source = in_row ? p.beside_row : p.alone;
  if (source == 0) {
    if (shape.id == EventShape::kUnknown) {
      EventShape whole;
      whole.between = {"", ""};
      whole.values.push_back({});
      source = sourceShape(whole, {SourceGap::kJson});
    } else if (in_row) {
      source = sourceShape(shape, p.gaps);
    } else {
      std::vector<SourceGap> all;
      for (const ShapeValue& v : shape.values) all.push_back(keptAs(v));
      source = sourceShape(shape, all);
    }
  }
  keep(table, shape, in_row ? &p.gaps : nullptr, source);
  if (table == SourceRows::kNone) ++rows_;
  if (rows_ >= kPortionRows || values_ >= kPortionValues) portion();
}

void ChromeImporter::member(std::string_view name, std::string_view raw) {
  if (name == "baseTimeNanoseconds") base_ns_ = JsonToken{.raw = raw}.integer();
  if (name.find("hip_") == 0 || name.find("roctracer") == 0) platform_ = PlatformType::ROCm;
  if (name.find("cuda_") == 0 || name.find("cupti") == 0) platform_ = PlatformType::CUDA;
  if (raw.size() <= kLongestMember) {
    delta_.setMetadata("source." + std::string(name), raw);
  } else {
    lost_members.push_back({0, raw.size(),
                            "the member \"" + std::string(name) +
                                "\" is larger than a string of a trace may be (16 MiB)"});
  }
  if (name != "deviceProperties") return;
  simdjson::dom::parser parser;
  simdjson::dom::array list;
  if (parser.parse(simdjson::padded_string(raw)).get(list)) return;
  for (const simdjson::dom::element element : list) {
    simdjson::dom::object properties;
    int64_t ordinal = 0;
    if (element.get(properties) || properties["id"].get(ordinal)) continue;
    const auto number = [&](const char* key) {
      uint64_t value = 0;
      return properties[key].get(value) ? uint64_t{0} : value;
    };
    std::string_view title;
    if (properties["name"].get(title)) title = {};
    if (properties["maxSharedMemoryPerMultiProcessor"].error() == simdjson::SUCCESS) {
      platform_ = PlatformType::ROCm;
    } else if (platform_ == PlatformType::Unknown && title.find("NVIDIA") != title.npos) {
      platform_ = PlatformType::CUDA;
    }
    device(ordinal);
    DeviceRow& row = devices_[ordinal];
    row.backend = platform_;
    row.name = delta_.strings.intern(title);
    row.memory_bytes = number("totalGlobalMem");
    row.compute_units = static_cast<uint32_t>(number("numSms"));
    row.max_work_group_size = static_cast<uint32_t>(number("maxThreadsPerBlock"));
    row.warp_size = static_cast<uint32_t>(number("warpSize"));
    row.compute_major = static_cast<uint32_t>(number("computeMajor"));
    row.compute_minor = static_cast<uint32_t>(number("computeMinor"));
    row.max_threads_per_unit = static_cast<uint32_t>(number("maxThreadsPerMultiprocessor"));
    row.registers_per_unit = number("regsPerMultiprocessor");
    row.shared_bytes_per_unit =
        std::max(number("sharedMemPerMultiprocessor"), number("maxSharedMemoryPerMultiProcessor"));
    delta_.device.push(row);
  }
}

/// Work that stands before its launch in the document: whose it is is known by now, as a rule.
void ChromeImporter::findLateLaunches() {
  const auto find = [&](auto& table) {
    for (size_t i = 0; i < table.size(); ++i) {
      if (table.thread_id[i] != ThreadId::kNone) continue;
      const auto launch = launched_by_.find(table.correlation_id[i]);
      if (launch != launched_by_.end() && launch->second != ThreadId::kNone) {
        table.thread_id[i] = launch->second;
        table.process_id[i] = process_of_[indexOf(launch->second)];
      } else if (table.process_id[i] == ProcessId::kNone) {
        table.process_id[i] = main_process_;
      }
    }
  };
  find(delta_.kernel);
  find(delta_.copy);
  find(delta_.fill);
  find(delta_.sync);
}

void ChromeImporter::portion() {
  findLateLaunches();
  if (status_) status_ = writer_.write(delta_, &sources_);
  forEachTable(delta_, [](auto& table) { table.clear(); });
  sources_.clearRows();
  rows_ = 0;
  values_ = 0;
}

/// What was only known in the end.
void ChromeImporter::settle() {
  for (auto& [ordinal, row] : devices_) {
    if (row.backend == platform_) continue;
    row.backend = platform_;
    delta_.device.push(row);
  }
  for (auto& [key, row] : contexts_) {
    if (row.process_id != ProcessId::kNone) continue;
    row.process_id = main_process_;
    delta_.context.push(row);
  }
  for (auto& [key, row] : streams_) {
    if (row.process_id != ProcessId::kNone) continue;
    row.process_id = main_process_;
    delta_.stream.push(row);
  }
  int64_t unix_ns = 0;
  const bool wall =
      dialect_ != ChromeDialect::kMcTracer;  // of what clock its times are is not known
  if (any_time_ && wall && !__builtin_add_overflow(base_ns_, first_ns_, &unix_ns) && unix_ns > 0) {
    delta_.clock_domain.push({.id = idAt<ClockDomainId>(0),
                              .kind = ClockKind::kHostRealtime,
                              .name = delta_.strings.intern("Unix time")});
    delta_.clock_snapshot.push(
        {.domain_id = idAt<ClockDomainId>(0), .host_ns = first_ns_, .clock_value = unix_ns});
  }
}

/// What the trace itself says of what is missing in it.
void ChromeImporter::losses(const std::vector<SourceDamage>& damage) {
  uint64_t bytes = 0;
  for (const SourceDamage& d : damage) bytes += d.bytes;
  std::string reason;
  const auto say = [&](const std::string& more) { reason += (reason.empty() ? "" : "; ") + more; };
  if (!damage.empty()) {
    say(std::to_string(bytes) + " bytes in " + std::to_string(damage.size()) +
        " places of the source could not be used, first: " + damage.front().reason);
  }
  if (counts.others > 0) {
    say(std::to_string(counts.others) +
        " events of no known kind or without a time are kept as they were, and are in no table");
  }
  if (join_ != nullptr) {
    if (const std::string doubts = join_->doubts(); !doubts.empty()) say(doubts);
  }
  if (ambiguous_ > 0) {
    say(std::to_string(ambiguous_) +
        " correlation ids belong to calls of several processes; work with them has no thread");
  }
  delta_.loss.push({.id = LossId{1},
                    .source = delta_.strings.intern("import"),
                    .emitted = counts.events,
                    .written = counts.events,
                    .reason = delta_.strings.intern(reason)});
}

Status ChromeImporter::finish(const JsonEvents& document) {
  settle();
  if (join_ != nullptr) {
    const std::string rest = join_->rest();
    if (rest.size() <= kLongestMember) delta_.setMetadata(kRestOfNodes, rest);
    counts.notes.push_back(fmt::format("{} of {} nodes of the execution trace belong to operators",
                                       join_->joined(), join_->nodes()));
    if (const std::string doubts = join_->doubts(); !doubts.empty()) counts.notes.push_back(doubts);
  }
  losses(document.damage());
  delta_.setMetadata("source_form", document.bare() ? "array" : "object");
  portion();
  return status_;
}

}  // namespace

Result<ImportCounts> importChromeJson(ByteSource& source, TraceWriter& writer, Trace facts,
                                      ChromeDialect dialect, ExecutionTraceJoin* join) {
  JsonEvents events(source);
  ChromeImporter importer(writer, std::move(facts), dialect);
  importer.joinWith(join);
  const Status read =
      events.run([&](std::string_view name, std::string_view raw) { importer.member(name, raw); },
                 [&](const ChromeEvent& event) {
                   importer.event(event);
                   if (!importer.status()) events.stop();  // a full disk, say
                 });
  if (!importer.status()) return tl::unexpected<Error>(importer.status().error());
  if (!read) return tl::unexpected<Error>(read.error());
  TS_CHECK_OK(importer.finish(events));
  importer.counts.bytes = events.documentBytes();
  importer.counts.damage = events.damage();
  importer.counts.damage.insert(importer.counts.damage.end(), importer.lost_members.begin(),
                                importer.lost_members.end());
  return importer.counts;
}

namespace {

bool recognisesChromeJson(const ImportInput& input) {
  const std::string_view text = input.head;
  const size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string_view::npos) return false;
  if (text[first] == '[') return text.find('{', first) != std::string_view::npos;
  return text[first] == '{' && text.find('"', first) != std::string_view::npos;
}

/// A profile with execution traces of the same process: the operators are read before, as it takes
/// all of them to tell which node is which.
Result<ImportCounts> runJoined(const ImportInput& input, TraceWriter& writer, Trace facts) {
  ExecutionTraceJoin join;
  for (const std::string& path : input.options.more) TS_CHECK_OK(join.read(path));
  {
    TS_TRY(const std::unique_ptr<ByteSource> source, input.bytes());
    JsonEvents events(*source);
    std::string room;
    TS_CHECK_OK(events.run(
        [](std::string_view, std::string_view) {},
        [&](const ChromeEvent& event) {
          if (event.phase() != 'X' || kindOf(event.category()) != ChromeKind::kHostRange) {
            return;
          }
          join.see(event[EventField::kProcess].raw, event[EventField::kThread].raw,
                   event[EventField::kArgExternalId].integer(),
                   event[EventField::kArgRecordFunction].integer(),
                   textOf(event[EventField::kName], room));
        }));
  }
  TS_CHECK_OK(join.align());
  TS_TRY(const std::unique_ptr<ByteSource> source, input.bytes());
  TS_TRY(ImportCounts counts,
         importChromeJson(*source, writer, std::move(facts), ChromeDialect::kCommon, &join));
  counts.damage.insert(counts.damage.end(), join.damage.begin(), join.damage.end());
  return counts;
}

Result<ImportCounts> runChromeJson(const ImportInput& input, TraceWriter& writer, Trace facts) {
  if (!input.options.more.empty()) return runJoined(input, writer, std::move(facts));
  TS_TRY(const std::unique_ptr<ByteSource> source, input.bytes());
  return importChromeJson(*source, writer, std::move(facts));
}

}  // namespace

constinit const Importer kChromeJsonImporter = {
    .format = "Chrome JSON",
    .experimental = "",
    .recognises = recognisesChromeJson,
    .run = runChromeJson,
    .several = true,
};

}  // namespace tracesmith::import
