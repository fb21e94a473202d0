// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/amd/rocpd_importer.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "tracesmith/import/amd/rocm_names.hpp"
#include "tracesmith/import/amd/rocpd_names.hpp"
#include "tracesmith/import/common/event_categories.hpp"
#include "tracesmith/import/common/source_interval.hpp"
#include "tracesmith/import/common/source_numbers.hpp"

namespace tracesmith::import {
namespace {

constexpr std::string_view kPrefix = "rocpd_";
constexpr std::string_view kStringTable = "rocpd_string_";

/// The tables of one process.
class RocpdProcess {
 public:
  RocpdProcess(SqliteFile& file, TraceBuilder& builder, std::string uuid, ImportCounts& counts,
               SpansOfSource& spans)
      : file_(file),
        builder_(builder),
        uuid_(std::move(uuid)),
        counts_(counts),
        spans_(spans),
        names_(builder) {}

  void run();
  bool isOwnTable(const SqliteTable& table) const {
    return table.name.starts_with(kPrefix) && table.name.ends_with(uuid_);
  }

 private:
  /// Fields common to all event tables.
  struct Common {
    int64_t start_ns = 0;
    int64_t duration_ns = 0;
    int64_t pid = 0;
    ProcessId process = ProcessId::kNone;
    ThreadId thread = ThreadId::kNone;
    std::optional<int64_t> agent, queue, stream;
    StringId name = StringId::kNone;
    uint64_t correlation = 0;
    const RocpdEvent* event = nullptr;
  };

  void readEvents(const SqliteTable& table, std::string_view name);
  bool common(const SqliteTable& table, const SqliteRow& row, Common& c);
  bool push(std::string_view name, const SqliteTable& table, const SqliteRow& row, Common& c,
            TableId& into, uint64_t& bytes);
  void pushRegion(const Common& c, TableId& into);
  void pushKernel(const SqliteTable& table, const SqliteRow& row, const Common& c);
  bool pushCounter(const SqliteTable& table, const SqliteRow& row, Common& c);
  StreamId stream(const Common& c, std::optional<int64_t> agent);
  DeviceId gpu(std::optional<int64_t> agent_id);
  template <class Row>
  Row deviceRow(const Common& c, std::optional<int64_t> agent) {
    Row row;
    row.start_ns = c.start_ns;
    row.duration_ns = c.duration_ns;
    row.process_id = c.process;
    row.thread_id = c.thread;
    row.stream_id = stream(c, agent);
    row.correlation_id = c.correlation;
    return row;
  }

  SqliteFile& file_;
  TraceBuilder& builder_;
  std::string uuid_;  // with the leading "_"
  ImportCounts& counts_;
  SpansOfSource& spans_;
  RocpdNames names_;
  IdIndex<int64_t> time_of_event_;
  std::set<StreamId> named_streams_;
};

void RocpdProcess::run() {
  std::vector<std::pair<const SqliteTable*, std::string>> later;
  // Categories and texts come first, because events refer to them.
  std::vector<std::pair<const SqliteTable*, std::string>> all;
  for (const SqliteTable& table : file_.tables()) {
    if (!isOwnTable(table)) continue;
    all.emplace_back(&table, table.name.substr(0, table.name.size() - uuid_.size()));
  }
  const auto rank = [](const std::string& name) {
    if (name == "rocpd_string" || name == "rocpd_info_category") return 0;
    if (name.starts_with("rocpd_info_")) return 1;
    if (name == "rocpd_pmc_event") return 4;  // after the events that give its time
    return name == "rocpd_region" ? 2 : 3;
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const auto& a, const auto& b) { return rank(a.second) < rank(b.second); });
  for (const auto& [table, name] : all) {
    if (!names_.read(file_, *table, name, counts_.metadata)) later.emplace_back(table, name);
  }
  names_.nameProcesses();
  for (const auto& [table, name] : later) readEvents(*table, name);
  names_.describeDevices();
}

void RocpdProcess::readEvents(const SqliteTable& table, std::string_view name) {
  SqliteSource source(
      builder_, table, table.name,
      {.start = table.find("start"), .end = table.find("end"), .bytes = table.find("size")});
  file_.scan(table, [&](const SqliteRow& row) {
    ++counts_.events;
    Common c;
    TableId into = SourceRows::kNone;
    uint64_t bytes = 0;
    if (common(table, row, c) && push(name, table, row, c, into, bytes)) {
      ++counts_.rows;
      source.keep(into, row,
                  {.start = c.start_ns, .end = endOf(c.start_ns, c.duration_ns), .bytes = bytes});
      builder_.added();
    } else {
      ++counts_.others;
      source.keepAlone(row);
    }
    return !builder_.failed();
  });
}

/// Returns false if neither the row nor its event has a time.
bool RocpdProcess::common(const SqliteTable& table, const SqliteRow& row, Common& c) {
  const auto maybe = [&](const char* column) {
    const int place = table.find(column);
    return row.type(place) == SqliteType::kNull ? std::optional<int64_t>() : row.integer(place);
  };
  std::optional<int64_t> process = maybe("pid");
  std::optional<int64_t> thread = maybe("tid");
  c.agent = maybe("agent_id");
  c.queue = maybe("queue_id");
  c.stream = maybe("stream_id");
  if (const auto id = maybe("name_id")) c.name = names_.text(*id);
  const RocpdPlace* track = nullptr;
  if (const auto id = maybe("track_id")) track = names_.track(*id);
  if (track != nullptr) {
    const auto fill = [](std::optional<int64_t>& value, const std::optional<int64_t>& from) {
      if (!value) value = from;
    };
    fill(process, track->process);
    fill(thread, track->thread);
    fill(c.agent, track->agent);
    fill(c.queue, track->queue);
    fill(c.stream, track->stream);
    if (c.name == StringId::kNone && track->name) c.name = names_.text(*track->name);
  }
  if (process) {
    c.pid = names_.pid(*process);
    c.process = builder_.process(c.pid);
    if (thread) c.thread = builder_.thread(c.pid, names_.tid(*thread));
  }
  const auto event_id = maybe("event_id");
  if (event_id) c.event = names_.event(*event_id);
  if (c.event != nullptr) c.correlation = c.event->correlation;

  const auto time = [&](const char* column, const char* id_column) {
    std::optional<int64_t> at = maybe(column);
    if (!at) {
      if (const auto id = maybe(id_column)) {
        if (const int64_t* known = names_.time(*id)) at = *known;
      }
    }
    return at;
  };
  std::optional<int64_t> start = time("start", "start_id");
  if (!start) start = time("timestamp", "timestamp_id");
  if (!start && event_id && table.find("pmc_id") >= 0) {
    if (const int64_t* known = time_of_event_.find(*event_id)) start = *known;
  }
  if (!start || !spans_.isTime(*start)) return false;
  c.start_ns = *start;
  const bool lasts = table.find("end") >= 0 || table.find("end_id") >= 0;
  c.duration_ns = lasts ? spans_.between(*start, time("end", "end_id")) : 0;
  if (event_id && table.find("pmc_id") < 0) time_of_event_.add(*event_id, *start);
  return true;
}

StreamId RocpdProcess::stream(const Common& c, std::optional<int64_t> agent_id) {
  const RocpdAgent* agent = agent_id ? names_.agent(*agent_id) : nullptr;
  if (agent_id && agent != nullptr && !agent->gpu) return StreamId::kNone;
  if (!agent_id && !c.stream && !c.queue) return StreamId::kNone;
  const int64_t device = agent != nullptr ? agent->ordinal : agent_id.value_or(0);
  // HIP's stream if recorded, else the hardware queue.
  const int64_t number = c.stream ? *c.stream : c.queue.value_or(0);
  const StreamId id = builder_.stream(c.pid, device, 0, number);
  if (c.stream && named_streams_.insert(id).second) {
    const std::string name = names_.streamName(number);
    if (!name.empty()) builder_.nameStream(id, name);
  }
  return id;
}

/// kNone for an agent that is no GPU.
DeviceId RocpdProcess::gpu(std::optional<int64_t> agent_id) {
  const RocpdAgent* agent = agent_id ? names_.agent(*agent_id) : nullptr;
  return agent == nullptr || !agent->gpu ? DeviceId::kNone : builder_.device(agent->ordinal);
}

bool RocpdProcess::push(std::string_view name, const SqliteTable& table, const SqliteRow& row,
                        Common& c, TableId& into, uint64_t& bytes) {
  const auto integer = [&](const char* column) { return row.integer(table.find(column)); };
  const auto maybe = [&](const char* column) {
    const int place = table.find(column);
    return row.type(place) == SqliteType::kNull ? std::optional<int64_t>() : row.integer(place);
  };
  if (name == "rocpd_region") {
    pushRegion(c, into);
    return true;
  }
  if (name == "rocpd_kernel_dispatch") {
    into = TableId::kKernel;
    pushKernel(table, row, c);
    return true;
  }
  if (name == "rocpd_memory_copy") {
    // Put it on the target device, or else on the source device.
    std::optional<int64_t> agent = maybe("dst_agent_id");
    const RocpdAgent* target = agent ? names_.agent(*agent) : nullptr;
    if (target == nullptr || !target->gpu) agent = maybe("src_agent_id");
    auto copy = deviceRow<CopyRow>(c, agent);
    copy.kind = rocmCopyKind(builder_.rows.text(c.name));
    copy.bytes = bytes = positive(integer("size"));
    copy.source = static_cast<uint64_t>(integer("src_address"));
    copy.destination = static_cast<uint64_t>(integer("dst_address"));
    copy.source_device_id = gpu(maybe("src_agent_id"));
    copy.destination_device_id = gpu(maybe("dst_agent_id"));
    copy.name = c.name;
    builder_.rows.copy.push(copy);
    into = TableId::kCopy;
    return true;
  }
  if (name == "rocpd_memory_allocate") {
    const std::string_view type = row.bytes(table.find("type"));
    const RocpdAgent* agent = c.agent ? names_.agent(*c.agent) : nullptr;
    bytes = positive(integer("size"));
    builder_.rows.memory_event.push({.time_ns = c.start_ns,
                                     .kind = type == "ALLOC"  ? MemoryKind::kAlloc
                                             : type == "FREE" ? MemoryKind::kFree
                                                              : MemoryKind::kUnknown,
                                     .process_id = c.process,
                                     .thread_id = c.thread,
                                     .device_id = agent != nullptr && agent->gpu
                                                      ? builder_.device(agent->ordinal)
                                                      : DeviceId::kNone,
                                     .address = static_cast<uint64_t>(integer("address")),
                                     .bytes = bytes,
                                     .correlation_id = c.correlation,
                                     .name = builder_.text(row.bytes(table.find("level")))});
    into = TableId::kMemoryEvent;
    c.duration_ns = 0;  // a memory row has no duration, so keep the source's end
    return true;
  }
  if (name == "rocpd_pmc_event") {
    into = TableId::kCounter;
    return pushCounter(table, row, c);
  }
  if (name == "rocpd_sample" || name == "rocpd_graph_launch") {
    RangeRow range{.start_ns = c.start_ns,
                   .duration_ns = c.duration_ns,
                   .kind = name == "rocpd_sample" ? RangeKind::kInstant : RangeKind::kRange,
                   .name = c.name,
                   .category = c.event != nullptr ? c.event->category : StringId::kNone,
                   .process_id = c.process,
                   .thread_id = c.thread,
                   .correlation_id = c.correlation};
    if (c.event != nullptr && c.event->message != StringId::kNone) range.name = c.event->message;
    if (range.name == StringId::kNone) range.name = range.category;
    builder_.rows.range.push(range);
    into = TableId::kRange;
    return true;
  }
  return false;
}

void RocpdProcess::pushRegion(const Common& c, TableId& into) {
  const std::string_view category =
      c.event != nullptr ? builder_.rows.text(c.event->category) : std::string_view{};
  const bool marker = category.find("MARKER") != category.npos;
  const bool call = !marker && category.find("API") != category.npos;
  if (call || (category.empty() && isRocmFunction(builder_.rows.text(c.name)))) {
    builder_.rows.host_call.push({.start_ns = c.start_ns,
                                  .duration_ns = c.duration_ns,
                                  .name = c.name,
                                  .process_id = c.process,
                                  .thread_id = c.thread,
                                  .correlation_id = c.correlation,
                                  .kind = callKindOf(builder_.rows.text(c.name))});
    into = TableId::kHostCall;
    return;
  }
  const bool said = c.event != nullptr && c.event->message != StringId::kNone;
  builder_.rows.range.push({.start_ns = c.start_ns,
                            .duration_ns = c.duration_ns,
                            .name = said ? c.event->message : c.name,
                            .category = builder_.text(marker ? "roctx" : category),
                            .process_id = c.process,
                            .thread_id = c.thread,
                            .correlation_id = c.correlation});
  into = TableId::kRange;
}

void RocpdProcess::pushKernel(const SqliteTable& table, const SqliteRow& row, const Common& c) {
  const auto size = [&](const char* column) { return row.integer(table.find(column)); };
  auto kernel = deviceRow<KernelRow>(c, c.agent);
  LaunchShapeRow shape{.global_x = positive(size("grid_size_x")),
                       .global_y = positive(size("grid_size_y")),
                       .global_z = positive(size("grid_size_z")),
                       .local_x = small(size("workgroup_size_x")),
                       .local_y = small(size("workgroup_size_y")),
                       .local_z = small(size("workgroup_size_z")),
                       .static_shared_bytes = small(size("group_segment_size")),
                       .local_bytes_per_thread = small(size("private_segment_size"))};
  shape.dimensions = shape.global_z > 1 ? 3 : shape.global_y > 1 ? 2 : 1;
  if (const RocpdKernel* known = names_.kernel(size("kernel_id"))) {
    kernel.name = known->name;
    shape.registers_per_thread = known->registers;
    // What a dispatch uses beyond the kernel's static size was requested at launch.
    if (known->group_bytes < shape.static_shared_bytes) {
      shape.dynamic_shared_bytes = shape.static_shared_bytes - known->group_bytes;
      shape.static_shared_bytes = known->group_bytes;
    }
  }
  if (kernel.name == StringId::kNone) {
    kernel.name = builder_.text("kernel " + std::to_string(size("kernel_id")));
  }
  kernel.shape_id = builder_.shape(shape);
  builder_.rows.kernel.push(kernel);
}

bool RocpdProcess::pushCounter(const SqliteTable& table, const SqliteRow& row, Common& c) {
  const std::string name = names_.counterName(row.integer(table.find("pmc_id")));
  if (name.empty()) return false;
  builder_.rows.counter.push({.time_ns = c.start_ns,
                              .track_id = builder_.counterTrack({.name = builder_.text(name)}),
                              .value = row.real(table.find("value"))});
  return true;
}

// --- The importer ----------------------------------------------------------------------------

/// The UUIDs in the table names, each with the leading "_".
std::vector<std::string> uuidsOf(const SqliteFile& file) {
  std::vector<std::string> uuids;
  for (const SqliteTable& table : file.tables()) {
    if (!table.name.starts_with(kStringTable)) continue;
    uuids.push_back(table.name.substr(kStringTable.size() - 1));
  }
  return uuids;
}

bool isRocpd(const SqliteFile& file) { return !uuidsOf(file).empty(); }

bool recognisesRocpd(const ImportInput& input) {
  constexpr auto kWords = std::to_array<std::string_view>({"rocpd_string_", "rocpd_metadata_"});
  return hasSqliteTables(input, kWords, isRocpd);
}

Result<ImportCounts> runRocpd(const ImportInput& input, TraceWriter& writer, Trace facts) {
  TS_TRY(const std::unique_ptr<SqliteFile> file, SqliteFile::open(input));
  TraceBuilder builder(writer, std::move(facts));
  ImportCounts counts;
  SpansOfSource spans;
  std::set<const SqliteTable*> owned;
  for (const std::string& uuid : uuidsOf(*file)) {
    RocpdProcess process(*file, builder, uuid, counts, spans);
    process.run();
    for (const SqliteTable& table : file->tables()) {
      if (process.isOwnTable(table)) owned.insert(&table);
    }
  }
  for (const SqliteTable& table : file->tables()) {
    if (owned.contains(&table)) continue;
    SqliteSource source(builder, table, table.name, {});
    file->scan(table, [&](const SqliteRow& row) {
      ++counts.events;
      ++counts.others;
      source.keepAlone(row);
      return !builder.failed();
    });
  }
  counts.bytes = file->bytes();
  counts.damage = file->damage();
  counts.events += counts.metadata;
  std::string lost;
  if (!counts.damage.empty()) {
    lost = std::to_string(counts.damage.size()) +
           " places of the source could not be read, first: " + counts.damage.front().reason;
  }
  if (counts.others > 0) {
    lost += (lost.empty() ? "" : "; ") + std::to_string(counts.others) +
            " rows of unknown kinds or without a time are kept unchanged, but are in no table";
  }
  spans.tell(counts.notes, lost);
  TS_CHECK_OK(builder.finish(counts, lost));
  return counts;
}

}  // namespace

constinit const Importer kRocpdImporter = {"rocpd",
                                           "tested with handwritten databases that follow schemas "
                                           "3 and 4 of rocprofiler-sdk; no recording "
                                           "of the tool itself was available",
                                           recognisesRocpd, runRocpd};

}  // namespace tracesmith::import
