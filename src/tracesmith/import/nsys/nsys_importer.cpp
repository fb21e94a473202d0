// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/nsys/nsys_importer.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "tracesmith/import/common/event_categories.hpp"
#include "tracesmith/import/common/launching_calls.hpp"
#include "tracesmith/import/common/source_interval.hpp"
#include "tracesmith/import/nsys/nsys_callchains.hpp"
#include "tracesmith/import/nsys/nsys_events.hpp"
#include "tracesmith/import/nsys/nsys_names.hpp"
#include "tracesmith/import/nsys/nsys_tables.hpp"
#include "tracesmith/model/names/cuda_names.hpp"

namespace tracesmith::import {
namespace {

using F = NsysField;

constexpr size_t kMostNotices = 5;  // notices quoted in the text about losses

/// Whether a message of the tool says that it lost something.
bool isLossMessage(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  constexpr auto kWords = std::to_array<std::string_view>(
      {"dropped", "lost", "discard", "overflow", "incomplete", "not all", "truncated", "missing"});
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

/// CUPTI uses 0xffffffff for streams and contexts without a number.
bool isNumber(int64_t id) { return id >= 0 && id < UINT32_MAX; }

class NsysImport {
 public:
  NsysImport(SqliteFile& file, TraceWriter& writer, Trace facts)
      : file_(file),
        builder_(writer, std::move(facts)),
        names_(builder_),
        stacks_(builder_, [this](int64_t id) { return names_.text(id); }) {}

  Result<ImportCounts> run();

 private:
  /// Where a piece of device work ran, and which call launched it.
  struct Place {
    ProcessId process;
    ThreadId thread;
    StreamId stream;
    uint64_t correlation;
    CallPathId call_path;
  };

  void readTable(const SqliteTable& table, const NsysTableKind& kind);
  void findDomains(const SqliteTable& table);
  // Each returns false if the row has no time or is not an event. On success the row is pushed and
  // counted, but its source is not yet kept.
  bool push(const NsysTableKind& kind, SqliteSource::Values& values, TableId& into);
  bool pushHostCall(SqliteSource::Values& values);
  bool pushKernel(SqliteSource::Values& values);
  bool pushGraph(SqliteSource::Values& values);
  bool pushCopy(SqliteSource::Values& values);
  bool pushFill(SqliteSource::Values& values);
  bool pushSync(SqliteSource::Values& values);
  bool pushEventRecord(SqliteSource::Values& values);
  bool pushMemory(SqliteSource::Values& values);
  bool pushDiagnostic(RangeRow range);
  bool pushRange(RangeRow range, SqliteSource::Values& values);
  bool pushNvtx(RangeRow range);
  bool pushMetric(SqliteSource::Values& values);
  template <class Row>
  Row deviceRow(SqliteSource::Values& values);
  Place place();
  NsysEvents::Row eventRow();
  ProcessId process(int64_t pid);
  ThreadId thread(int64_t global_tid);
  StreamId stream(int64_t pid);
  DeviceId otherDevice(F field);
  ShapeId launchShape();
  StringId nameOf(F field) const { return names_.text(integer(field, -1)); }
  int64_t integer(F field, int64_t otherwise = 0) const {
    return row_->integer(columns_->at(field), otherwise);
  }
  bool has(F field) const { return row_->type(columns_->at(field)) != SqliteType::kNull; }
  uint64_t positive(F field) const {
    return static_cast<uint64_t>(std::max<int64_t>(integer(field), 0));
  }
  uint32_t small(F field) const {
    return static_cast<uint32_t>(std::clamp<int64_t>(integer(field), 0, UINT32_MAX));
  }
  int64_t lengthOfRow(const NsysTableKind& kind, int64_t start_ns);
  std::string lost();

  SqliteFile& file_;
  TraceBuilder builder_;
  NsysNames names_;
  NsysCallchains stacks_;
  NsysNames::Used used_;
  LaunchingCalls launched_by_;
  NsysEvents events_;
  std::map<int64_t, StringId> domains_;  // NVTX domains
  std::vector<std::string> notices_;
  size_t notices_left_out_ = 0;
  std::optional<int64_t> first_ns_;
  SpansOfSource spans_;
  ImportCounts counts_;
  // The current row.
  int64_t duration_ns_ = 0;
  const SqliteRow* row_ = nullptr;
  const NsysColumns* columns_ = nullptr;
  StringId category_ = StringId::kNone;
  int stack_kind_ = 0;
};

constexpr int kCudaStacks = 1;
constexpr int kOsStacks = 2;

Result<ImportCounts> NsysImport::run() {
  std::vector<const SqliteTable*> later;
  std::vector<const SqliteTable*> stacks;
  std::vector<const SqliteTable*> dictionaries;
  for (const SqliteTable& table : file_.tables()) {
    if (table.name == "CUDA_CALLCHAINS" || table.name == "OSRT_CALLCHAINS") {
      stacks.push_back(&table);
    } else if (nsysTableKind(table.name).target == NsysTarget::kDictionary) {
      dictionaries.push_back(&table);
    } else {
      later.push_back(&table);
    }
  }
  // Read calls before the work that they launched.
  std::stable_sort(later.begin(), later.end(), [](const SqliteTable* a, const SqliteTable* b) {
    return nsysTableKind(a->name).target == NsysTarget::kHostCall &&
           nsysTableKind(b->name).target != NsysTarget::kHostCall;
  });
  for (const SqliteTable* table : dictionaries) counts_.metadata += names_.read(file_, *table);
  for (const SqliteTable* table : stacks) {
    counts_.metadata +=
        stacks_.read(file_, *table, table->name == "CUDA_CALLCHAINS" ? kCudaStacks : kOsStacks);
  }
  for (const SqliteTable* table : later) readTable(*table, nsysTableKind(table->name));
  names_.nameUsedIds(used_);
  events_.writeFlows(builder_.rows.flow);
  const std::optional<int64_t> epoch = names_.unixEpoch();
  int64_t unix_ns = 0;
  if (epoch && first_ns_ && !__builtin_add_overflow(*epoch, *first_ns_, &unix_ns) && unix_ns > 0) {
    builder_.unixTime(*first_ns_, unix_ns);
  }
  counts_.bytes = file_.bytes();
  counts_.damage = file_.damage();
  counts_.events += counts_.metadata;
  TS_CHECK_OK(builder_.finish(counts_, lost()));
  return counts_;
}

std::string NsysImport::lost() {
  std::string text;
  const auto say = [&](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (!file_.damage().empty()) {
    say(std::to_string(file_.damage().size()) +
        " places of the source could not be read, first: " + file_.damage().front().reason);
  }
  if (file_.find("StringIds") == nullptr) {
    counts_.notes.emplace_back("the table StringIds is missing: events have no names");
    say(counts_.notes.back());
  }
  for (const std::string& notice : notices_) say("Nsight Systems said: " + notice);
  if (notices_left_out_ > 0) {
    say("and " + std::to_string(notices_left_out_) + " more messages of that kind");
  }
  if (counts_.others > 0) {
    say(std::to_string(counts_.others) +
        " rows of unknown kinds or without a time are kept unchanged, but are in no table");
  }
  spans_.tell(counts_.notes, text);
  return text;
}

// --- Rows ------------------------------------------------------------------------------------

void NsysImport::findDomains(const SqliteTable& table) {
  const NsysColumns columns(table);
  columns_ = &columns;
  if (!columns.has(F::kKind) || !columns.has(F::kDomain)) return;
  file_.scan(table, [&](const SqliteRow& row) {
    row_ = &row;
    if (names_.nvtxKind(integer(F::kKind)) != NsysNames::NvtxKind::kDomain) return true;
    const std::string_view text = row.bytes(columns.at(F::kText));
    domains_[integer(F::kDomain)] = text.empty() ? nameOf(F::kTextId) : builder_.text(text);
    return true;
  });
}

void NsysImport::readTable(const SqliteTable& table, const NsysTableKind& kind) {
  if (kind.target == NsysTarget::kNvtx) findDomains(table);
  const NsysColumns columns(table);
  columns_ = &columns;
  category_ = builder_.text(kind.category.empty() ? std::string_view(table.name) : kind.category);
  stack_kind_ = table.name == "OSRT_API" ? kOsStacks : kCudaStacks;
  SqliteSource source(builder_, table, table.name,
                      {.start = columns.at(F::kStart),
                       .end = columns.at(F::kEnd),
                       .correlation = columns.at(F::kCorrelation),
                       .bytes = columns.at(F::kBytes)});
  file_.scan(table, [&](const SqliteRow& row) {
    row_ = &row;
    ++counts_.events;
    SqliteSource::Values values;
    TableId into = SourceRows::kNone;
    if (kind.target == NsysTarget::kEventRecord) events_.record(eventRow());
    if (has(F::kStart) && row.type(columns.at(F::kStart)) == SqliteType::kInteger &&
        spans_.isTime(integer(F::kStart))) {
      values.start = integer(F::kStart);
      duration_ns_ = lengthOfRow(kind, values.start);
      values.end = endOf(values.start, duration_ns_);
      if (push(kind, values, into)) {
        ++counts_.rows;
        source.keep(into, row, values);
        builder_.added();
        if (!first_ns_) first_ns_ = values.start;
        return !builder_.failed();
      }
    }
    ++counts_.others;
    source.keepAlone(row);
    return !builder_.failed();
  });
}

/// Only ranges may still be open at the end of the recording.
int64_t NsysImport::lengthOfRow(const NsysTableKind& kind, int64_t start_ns) {
  if (!columns_->has(F::kEnd) || kind.target == NsysTarget::kMemory) return 0;
  if (has(F::kEnd)) {
    const std::optional<int64_t> end = row_->wholeNumber(columns_->at(F::kEnd));
    return spans_.between(start_ns, end);
  }
  const bool may_be_open = kind.target == NsysTarget::kNvtx || kind.target == NsysTarget::kRange ||
                           kind.target == NsysTarget::kUnknown;
  return may_be_open ? 0 : spans_.between(start_ns, std::nullopt);
}

bool NsysImport::push(const NsysTableKind& kind, SqliteSource::Values& values, TableId& into) {
  const RangeRow range{
      .start_ns = values.start, .duration_ns = duration_ns_, .category = category_};
  switch (kind.target) {
    case NsysTarget::kHostCall:
      into = TableId::kHostCall;
      return pushHostCall(values);
    case NsysTarget::kKernel:
      into = TableId::kKernel;
      return pushKernel(values);
    case NsysTarget::kGraph:
      into = TableId::kKernel;
      return pushGraph(values);
    case NsysTarget::kCopy:
      into = TableId::kCopy;
      return pushCopy(values);
    case NsysTarget::kFill:
      into = TableId::kFill;
      return pushFill(values);
    case NsysTarget::kSync:
      into = TableId::kSync;
      return pushSync(values);
    case NsysTarget::kEventRecord:
      into = TableId::kSync;
      return pushEventRecord(values);
    case NsysTarget::kMemory:
      into = TableId::kMemoryEvent;
      return pushMemory(values);
    case NsysTarget::kMetric:
      into = TableId::kCounter;
      return pushMetric(values);
    case NsysTarget::kNvtx:
      into = TableId::kRange;
      return pushNvtx(range);
    case NsysTarget::kDiagnostic:
      into = TableId::kRange;
      return pushDiagnostic(range);
    case NsysTarget::kUnknown:
      if (!columns_->has(F::kEnd) || (!columns_->has(F::kName) && !columns_->has(F::kTextId))) {
        return false;
      }
      [[fallthrough]];
    case NsysTarget::kRange:
      into = TableId::kRange;
      return pushRange(range, values);
    case NsysTarget::kDictionary:
      break;
  }
  return false;
}

bool NsysImport::pushKernel(SqliteSource::Values& values) {
  auto kernel = deviceRow<KernelRow>(values);
  kernel.name = nameOf(F::kDemangledName);
  if (kernel.name == StringId::kNone) kernel.name = nameOf(F::kShortName);
  kernel.shape_id = launchShape();
  builder_.rows.kernel.push(kernel);
  return true;
}

bool NsysImport::pushGraph(SqliteSource::Values& values) {
  auto graph = deviceRow<KernelRow>(values);
  graph.name = builder_.text("CUDA graph " + std::to_string(integer(F::kGraph)) + " (as a whole)");
  builder_.rows.kernel.push(graph);
  return true;
}

bool NsysImport::pushCopy(SqliteSource::Values& values) {
  auto copy = deviceRow<CopyRow>(values);
  copy.kind = names_.copyKind(integer(F::kKind));
  copy.bytes = values.bytes = positive(F::kBytes);
  copy.source_device_id = otherDevice(F::kSourceDevice);
  copy.destination_device_id = otherDevice(F::kDestinationDevice);
  const std::string_view label = names_.label("ENUM_CUDA_MEMCPY_OPER", integer(F::kKind));
  if (!label.empty()) copy.name = builder_.text("Memcpy " + std::string(label));
  builder_.rows.copy.push(copy);
  return true;
}

bool NsysImport::pushFill(SqliteSource::Values& values) {
  auto fill = deviceRow<FillRow>(values);
  fill.bytes = values.bytes = positive(F::kBytes);
  builder_.rows.fill.push(fill);
  return true;
}

bool NsysImport::pushSync(SqliteSource::Values& values) {
  auto sync = deviceRow<SyncRow>(values);
  sync.kind = names_.syncKind(integer(F::kKind));
  if (sync.kind != SyncKind::kBarrier) sync.flags |= op_flags::kHostSide;
  const std::string_view label = names_.label("ENUM_CUPTI_SYNC_TYPE", integer(F::kKind));
  sync.name = builder_.text(label);
  builder_.rows.sync.push(sync);
  if (sync.kind == SyncKind::kBarrier || sync.kind == SyncKind::kEventWait) {
    events_.wait(eventRow());
  }
  return true;
}

bool NsysImport::pushEventRecord(SqliteSource::Values& values) {
  if (values.start == 0) return false;  // not collected
  auto record = deviceRow<SyncRow>(values);
  record.kind = SyncKind::kEventRecord;
  builder_.rows.sync.push(record);
  return true;
}

bool NsysImport::pushMemory(SqliteSource::Values& values) {
  const Place at = place();
  const int64_t pid = nsysPid(integer(F::kGlobalPid));
  values.correlation = at.correlation;
  values.bytes = positive(F::kBytes);
  const int64_t gpu = names_.gpu(pid, integer(F::kDevice));
  used_.devices.insert(gpu);
  builder_.rows.memory_event.push({.time_ns = values.start,
                                   .kind = names_.memoryKind(integer(F::kKind)),
                                   .process_id = at.process,
                                   .thread_id = at.thread,
                                   .device_id = builder_.device(gpu),
                                   .address = static_cast<uint64_t>(integer(F::kAddress)),
                                   .bytes = values.bytes,
                                   .correlation_id = at.correlation,
                                   .name = builder_.text(row_->bytes(columns_->at(F::kVariable))),
                                   .call_path_id = at.call_path});
  return true;
}

bool NsysImport::pushDiagnostic(RangeRow range) {
  const std::string text(row_->bytes(columns_->at(F::kText)));
  if (isLossMessage(text)) {
    if (notices_.size() < kMostNotices) {
      notices_.push_back(text);
    } else {
      ++notices_left_out_;
    }
  }
  range.kind = RangeKind::kInstant;
  range.name = builder_.text(text);
  if (has(F::kGlobalPid)) range.process_id = process(nsysPid(integer(F::kGlobalPid)));
  builder_.rows.range.push(range);
  return true;
}

bool NsysImport::pushRange(RangeRow range, SqliteSource::Values& values) {
  range.name = has(F::kName) ? nameOf(F::kName) : nameOf(F::kTextId);
  if (range.name == StringId::kNone && columns_->has(F::kKind)) {
    range.name = builder_.text(names_.label("ENUM_CUPTI_OVERHEAD_TYPE", integer(F::kKind)));
  }
  if (has(F::kGlobalTid)) {
    range.process_id = process(nsysPid(integer(F::kGlobalTid)));
    range.thread_id = thread(integer(F::kGlobalTid));
  } else if (has(F::kGlobalPid)) {
    range.process_id = process(nsysPid(integer(F::kGlobalPid)));
  }
  range.correlation_id = values.correlation = positive(F::kCorrelation);
  if (has(F::kCallchain)) range.call_path_id = stacks_.at(stack_kind_, integer(F::kCallchain));
  if (!has(F::kEnd)) range.kind = RangeKind::kBegin;
  builder_.rows.range.push(range);
  return true;
}

template <class Row>
Row NsysImport::deviceRow(SqliteSource::Values& values) {
  const Place at = place();
  Row row;
  row.start_ns = values.start;
  row.duration_ns = duration_ns_;
  row.process_id = at.process;
  row.thread_id = at.thread;
  row.stream_id = at.stream;
  row.correlation_id = values.correlation = at.correlation;
  row.call_path_id = at.call_path;
  return row;
}

NsysEvents::Row NsysImport::eventRow() {
  const Place at = place();
  return {.process = at.process,
          .event = integer(F::kEvent, -1),
          .sync_id = integer(F::kEventSync, NsysEvents::kNoSyncId),
          .correlation = at.correlation,
          .stream = at.stream};
}

bool NsysImport::pushHostCall(SqliteSource::Values& values) {
  const StringId full = nameOf(F::kName);
  const std::string_view name = withoutCudaVersion(builder_.rows.text(full));
  HostCallRow call{.start_ns = values.start,
                   .duration_ns = duration_ns_,
                   .name = builder_.text(name),
                   .correlation_id = positive(F::kCorrelation),
                   .result = integer(F::kResult),
                   .kind = callKindOf(name)};
  values.correlation = call.correlation_id;
  if (has(F::kGlobalTid)) {
    call.process_id = process(nsysPid(integer(F::kGlobalTid)));
    call.thread_id = thread(integer(F::kGlobalTid));
  }
  if (has(F::kCallchain)) call.call_path_id = stacks_.at(kCudaStacks, integer(F::kCallchain));
  launched_by_.add({.correlation = call.correlation_id,
                    .process = call.process_id,
                    .thread = call.thread_id,
                    .call_path = call.call_path_id});
  builder_.rows.host_call.push(call);
  return true;
}

bool NsysImport::pushNvtx(RangeRow range) {
  const NsysNames::NvtxKind kind = names_.nvtxKind(integer(F::kKind));
  const std::string_view text = row_->bytes(columns_->at(F::kText));
  if (kind == NsysNames::NvtxKind::kThread && has(F::kGlobalTid)) {
    const int64_t id = integer(F::kGlobalTid);
    const std::string name(text.empty() ? builder_.rows.text(nameOf(F::kTextId)) : text);
    builder_.nameThread(nsysPid(id), nsysTid(id), name);
  }
  if (kind != NsysNames::NvtxKind::kRange && kind != NsysNames::NvtxKind::kMark) return false;
  range.name = text.empty() ? nameOf(F::kTextId) : builder_.text(text);
  if (const auto it = domains_.find(integer(F::kDomain)); it != domains_.end()) {
    if (it->second != StringId::kNone) range.category = it->second;
  }
  if (has(F::kGlobalTid)) {
    range.process_id = process(nsysPid(integer(F::kGlobalTid)));
    range.thread_id = thread(integer(F::kGlobalTid));
  }
  if (kind == NsysNames::NvtxKind::kMark) {
    range.kind = RangeKind::kInstant;
  } else if (!has(F::kEnd)) {
    range.kind = RangeKind::kBegin;  // the recording ended inside it
  }
  builder_.rows.range.push(range);
  return true;
}

bool NsysImport::pushMetric(SqliteSource::Values& values) {
  const std::string_view name = names_.metricName(integer(F::kType), integer(F::kMetric));
  if (name.empty() || !has(F::kValue)) return false;
  const CounterTrackId track = builder_.counterTrack({.name = builder_.text(name)});
  builder_.rows.counter.push(
      {.time_ns = values.start, .track_id = track, .value = row_->real(columns_->at(F::kValue))});
  return true;
}

// --- Places and threads ----------------------------------------------------------------------

ProcessId NsysImport::process(int64_t pid) {
  used_.pids.insert(pid);
  return builder_.process(pid);
}

ThreadId NsysImport::thread(int64_t global_tid) {
  const int64_t pid = nsysPid(global_tid);
  const int64_t tid = nsysTid(global_tid);
  used_.tids.insert({pid, tid});
  return builder_.thread(pid, tid);
}

/// A device beside that of the stream, if the row names one.
DeviceId NsysImport::otherDevice(F field) {
  if (!has(field) || !isNumber(integer(field))) return DeviceId::kNone;
  const int64_t gpu = names_.gpu(nsysPid(integer(F::kGlobalPid)), integer(field));
  used_.devices.insert(gpu);
  return builder_.device(gpu);
}

StreamId NsysImport::stream(int64_t pid) {
  if (!has(F::kStream) || !isNumber(integer(F::kStream))) return StreamId::kNone;
  const int64_t gpu = names_.gpu(pid, integer(F::kDevice));
  used_.devices.insert(gpu);
  return builder_.stream(pid, gpu, integer(F::kContext), integer(F::kStream));
}

NsysImport::Place NsysImport::place() {
  const int64_t pid = nsysPid(integer(F::kGlobalPid));
  Place at{};
  at.process = process(pid);
  at.correlation = positive(F::kCorrelation);
  const LaunchingCall call = launched_by_.at(at.process, at.correlation);
  at.thread = call.thread;
  at.call_path = call.call_path;
  at.stream = stream(pid);
  return at;
}

ShapeId NsysImport::launchShape() {
  if (!columns_->has(F::kGridX)) return ShapeId::kNone;
  LaunchShapeRow shape{.local_x = small(F::kBlockX),
                       .local_y = small(F::kBlockY),
                       .local_z = small(F::kBlockZ),
                       .static_shared_bytes = small(F::kStaticShared),
                       .dynamic_shared_bytes = small(F::kDynamicShared),
                       .registers_per_thread = small(F::kRegisters),
                       .local_bytes_per_thread = small(F::kLocalPerThread),
                       .cluster_x = small(F::kClusterX),
                       .cluster_y = small(F::kClusterY),
                       .cluster_z = small(F::kClusterZ)};
  // The source's grid counts blocks, a trace's counts work-items. The product is below 2^64,
  // because both factors are clamped to 32 bits.
  shape.global_x = uint64_t{small(F::kGridX)} * shape.local_x;
  shape.global_y = uint64_t{small(F::kGridY)} * shape.local_y;
  shape.global_z = uint64_t{small(F::kGridZ)} * shape.local_z;
  shape.dimensions = shape.global_z > 1 ? 3 : shape.global_y > 1 ? 2 : 1;
  return builder_.shape(shape);
}

// --- The importer ----------------------------------------------------------------------------

/// Any table name that only Nsight Systems uses is enough, because others may be missing.
bool isNsys(const SqliteFile& file) {
  return std::any_of(file.tables().begin(), file.tables().end(), [&](const SqliteTable& table) {
    return table.name.starts_with("CUPTI_ACTIVITY_KIND_") ||
           table.name.starts_with("TARGET_INFO_") || table.name == "NVTX_EVENTS" ||
           table.name == "OSRT_API" ||
           (table.name.starts_with("META_DATA_") && file.find("StringIds") != nullptr);
  });
}

bool recognisesNsys(const ImportInput& input) {
  constexpr auto kWords = std::to_array<std::string_view>({"StringIds", "TARGET_INFO_"});
  return hasSqliteTables(input, kWords, isNsys);
}

Result<ImportCounts> runNsys(const ImportInput& input, TraceWriter& writer, Trace facts) {
  TS_TRY(const std::unique_ptr<SqliteFile> file, SqliteFile::open(input));
  return NsysImport(*file, writer, std::move(facts)).run();
}

}  // namespace

constinit const Importer kNsysImporter = {"Nsight Systems SQLite", "", recognisesNsys, runNsys};

}  // namespace tracesmith::import
