// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/amd/rpd_importer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string>

#include "tracesmith/import/amd/rocm_names.hpp"
#include "tracesmith/import/common/event_categories.hpp"
#include "tracesmith/import/common/id_index.hpp"
#include "tracesmith/import/common/source_interval.hpp"
#include "tracesmith/import/common/source_numbers.hpp"
#include "tracesmith/import/sqlite/sqlite_source.hpp"

namespace tracesmith::import {
namespace {

/// Parses an address such as "0x7f4043dc6040".
uint64_t address(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

class RpdImport {
 public:
  RpdImport(SqliteFile& file, TraceWriter& writer, Trace facts)
      : file_(file), builder_(writer, std::move(facts)) {}

  Result<ImportCounts> run();

 private:
  struct Call {
    int64_t pid;
    ThreadId thread;
    bool work_items;
  };
  struct Copy {
    uint64_t bytes, source, destination;
  };
  using OnRow = std::function<void(const SqliteTable&, const SqliteRow&)>;

  /// Keeps the rows of a table without events, and passes each one to `f`.
  void dictionary(std::string_view name, const OnRow& f);
  void kernelCalls();
  void calls();
  void operations();
  void monitors();
  void others();
  void keepEvent(SqliteSource& source, TableId into, const SqliteRow& row, int64_t start_ns,
                 int64_t duration_ns, uint64_t correlation = 0, uint64_t bytes = 0);
  void keepUnknown(SqliteSource& source, const SqliteRow& row);
  bool isTime(const SqliteRow& row, int column) {
    return row.type(column) == SqliteType::kInteger && spans_.isTime(row.integer(column));
  }
  StringId text(int64_t id) {
    const StringId* known = strings_.find(id);
    return known == nullptr ? StringId::kNone : *known;
  }
  std::string_view word(int64_t id) { return builder_.rows.text(text(id)); }
  const SqliteTable* take(std::string_view name) {
    const SqliteTable* table = file_.find(name);
    if (table != nullptr) taken_.insert(table);
    return table;
  }

  SqliteFile& file_;
  TraceBuilder builder_;
  IdIndex<StringId> strings_;
  IdIndex<int64_t> api_of_op_;
  IdIndex<LaunchShapeRow> shapes_;  // by call; grid as in the file
  IdIndex<StringId> kernels_;       // names, by call
  IdIndex<Copy> copies_;            // by call
  IdIndex<Call> calls_;
  std::set<int64_t> pids_;
  std::set<int64_t> devices_;
  std::set<const SqliteTable*> taken_;
  SpansOfSource spans_;
  ImportCounts counts_;
};

Result<ImportCounts> RpdImport::run() {
  dictionary("rocpd_string", [&](const SqliteTable& t, const SqliteRow& row) {
    strings_.add(row.integer(t.find("id")), builder_.text(row.bytes(t.find("string"))));
  });
  dictionary("rocpd_metadata", [&](const SqliteTable& t, const SqliteRow& row) {
    builder_.setMetadata("rpd." + std::string(row.bytes(t.find("tag"))),
                         row.bytes(t.find("value")));
  });
  dictionary("rocpd_api_ops", [&](const SqliteTable& t, const SqliteRow& row) {
    api_of_op_.add(row.integer(t.find("op_id")), row.integer(t.find("api_id")));
  });
  dictionary("rocpd_copyapi", [&](const SqliteTable& t, const SqliteRow& row) {
    copies_.add(row.integer(t.find("api_ptr_id")),
                {.bytes = positive(row.integer(t.find("size"))),
                 .source = address(row.bytes(t.find("src"))),
                 .destination = address(row.bytes(t.find("dst")))});
  });
  kernelCalls();
  calls();
  operations();
  monitors();
  others();
  for (const int64_t device : devices_) {
    DeviceRow& row = builder_.deviceRow(device);
    row.backend = PlatformType::ROCm;
    row.vendor = builder_.text("AMD");
  }
  counts_.bytes = file_.bytes();
  counts_.damage = file_.damage();
  counts_.events += counts_.metadata;
  std::string lost;
  if (!counts_.damage.empty()) {
    lost = std::to_string(counts_.damage.size()) +
           " places of the source could not be read, first: " + counts_.damage.front().reason;
  }
  if (counts_.others > 0) {
    lost += (lost.empty() ? "" : "; ") + std::to_string(counts_.others) +
            " rows of unknown kinds or without a time are kept unchanged, but are in no table";
  }
  for (const auto& [table, what] :
       {std::pair{"rocpd_string", "events have no names"},
        {"rocpd_api", "there are no calls"},
        {"rocpd_op", "there is no GPU work"},
        {"rocpd_api_ops", "work is not joined to the calls that launched it"}}) {
    if (file_.find(table) != nullptr) continue;
    counts_.notes.push_back(std::string("the table ") + table + " is missing: " + what);
    lost += (lost.empty() ? "" : "; ") + counts_.notes.back();
  }
  spans_.tell(counts_.notes, lost);
  TS_CHECK_OK(builder_.finish(counts_, lost));
  return counts_;
}

void RpdImport::dictionary(std::string_view name, const OnRow& f) {
  const SqliteTable* table = take(name);
  if (table == nullptr) return;
  SqliteSource source(builder_, *table, table->name, {});
  file_.scan(*table, [&](const SqliteRow& row) {
    ++counts_.metadata;
    f(*table, row);
    source.keepAlone(row);
    return !builder_.failed();
  });
}

void RpdImport::kernelCalls() {
  dictionary("rocpd_kernelapi", [&](const SqliteTable& t, const SqliteRow& row) {
    const auto size = [&](const char* column) { return row.integer(t.find(column)); };
    const int64_t api = size("api_ptr_id");
    shapes_.add(api, {.global_x = small(size("gridX")),
                      .global_y = small(size("gridY")),
                      .global_z = small(size("gridZ")),
                      .local_x = small(size("workgroupX")),
                      .local_y = small(size("workgroupY")),
                      .local_z = small(size("workgroupZ")),
                      .dynamic_shared_bytes = small(size("groupSegmentSize")),
                      .local_bytes_per_thread = small(size("privateSegmentSize"))});
    kernels_.add(api, text(size("kernelName_id")));
  });
}

void RpdImport::keepEvent(SqliteSource& source, TableId into, const SqliteRow& row,
                          int64_t start_ns, int64_t duration_ns, uint64_t correlation,
                          uint64_t bytes) {
  ++counts_.rows;
  source.keep(into, row,
              {.start = start_ns,
               .end = endOf(start_ns, duration_ns),
               .correlation = correlation,
               .bytes = bytes});
  builder_.added();
}

void RpdImport::keepUnknown(SqliteSource& source, const SqliteRow& row) {
  ++counts_.others;
  source.keepAlone(row);
}

void RpdImport::calls() {
  const SqliteTable* table = take("rocpd_api");
  if (table == nullptr) return;
  const int id = table->find("id");
  const int start = table->find("start");
  const int end = table->find("end");
  const int name = table->find("apiName_id");
  const int args = table->find("args_id");
  const int domain = table->find("domain_id");
  SqliteSource source(builder_, *table, table->name,
                      {.start = start, .end = end, .correlation = id});
  file_.scan(*table, [&](const SqliteRow& row) {
    ++counts_.events;
    if (!isTime(row, start)) {
      keepUnknown(source, row);
      return !builder_.failed();
    }
    const int64_t pid = row.integer(table->find("pid"));
    const ProcessId process = builder_.process(pid);
    const ThreadId thread = builder_.thread(pid, row.integer(table->find("tid")));
    pids_.insert(pid);
    const StringId function = text(row.integer(name));
    const std::string_view title = builder_.rows.text(function);
    calls_.add(row.integer(id), {pid, thread, launchesWorkItems(title)});
    const int64_t from = row.integer(start);
    const int64_t length = spans_.between(from, row.wholeNumber(end));
    const uint64_t correlation = positive(row.integer(id));
    if (isRocmFunction(title)) {
      builder_.rows.host_call.push({.start_ns = from,
                                    .duration_ns = length,
                                    .name = function,
                                    .process_id = process,
                                    .thread_id = thread,
                                    .correlation_id = correlation,
                                    .kind = callKindOf(title)});
      keepEvent(source, TableId::kHostCall, row, from, length, correlation);
    } else {
      // Markers have their text as an argument; all others come from the tracer itself.
      const bool marker = title == "UserMarker";
      std::string_view category = word(row.integer(domain, -1));
      if (category.empty()) category = marker ? "roctx" : "RPD";
      builder_.rows.range.push({.start_ns = from,
                                .duration_ns = length,
                                .name = marker ? text(row.integer(args)) : function,
                                .category = builder_.text(category),
                                .process_id = process,
                                .thread_id = thread,
                                .correlation_id = correlation});
      keepEvent(source, TableId::kRange, row, from, length, correlation);
    }
    return !builder_.failed();
  });
}

void RpdImport::operations() {
  const SqliteTable* table = take("rocpd_op");
  if (table == nullptr) return;
  const int id = table->find("id");
  const int start = table->find("start");
  const int end = table->find("end");
  SqliteSource source(builder_, *table, table->name, {.start = start, .end = end});
  // Work without a call belongs to the only process, if there is just one.
  const int64_t only_pid = pids_.size() == 1 ? *pids_.begin() : 0;
  file_.scan(*table, [&](const SqliteRow& row) {
    ++counts_.events;
    if (!isTime(row, start)) {
      keepUnknown(source, row);
      return !builder_.failed();
    }
    const int64_t from = row.integer(start);
    const int64_t length = spans_.between(from, row.wholeNumber(end));
    const int64_t* api = api_of_op_.find(row.integer(id));
    const Call* call = api == nullptr ? nullptr : calls_.find(*api);
    const int64_t pid = call == nullptr ? only_pid : call->pid;
    const int64_t gpu = row.integer(table->find("gpuId"));
    devices_.insert(gpu);
    const auto place = [&](auto op) {
      op.start_ns = from;
      op.duration_ns = length;
      op.process_id = builder_.process(pid);
      if (call != nullptr) op.thread_id = call->thread;
      op.stream_id = builder_.stream(pid, gpu, 0, row.integer(table->find("queueId")));
      op.correlation_id = api == nullptr ? 0 : positive(*api);
      return op;
    };
    const StringId description = text(row.integer(table->find("description_id")));
    const StringId type = text(row.integer(table->find("opType_id")));
    const std::string_view kind = builder_.rows.text(type);
    if (kind.find("Copy") != kind.npos || kind.find("COPY") != kind.npos) {
      auto copy = place(CopyRow{});
      copy.kind = rocmCopyKind(kind);
      copy.name = description == StringId::kNone ? type : description;
      if (const Copy* how = api == nullptr ? nullptr : copies_.find(*api)) {
        copy.bytes = how->bytes;
        copy.source = how->source;
        copy.destination = how->destination;
      }
      builder_.rows.copy.push(copy);
      keepEvent(source, TableId::kCopy, row, from, length);
    } else if (kind.find("Fill") != kind.npos) {
      auto fill = place(FillRow{});
      fill.name = description == StringId::kNone ? type : description;
      builder_.rows.fill.push(fill);
      keepEvent(source, TableId::kFill, row, from, length);
    } else if (kind.find("Barrier") != kind.npos || kind.find("Marker") != kind.npos) {
      auto sync = place(SyncRow{});
      sync.kind = kind.find("Marker") != kind.npos ? SyncKind::kMarker : SyncKind::kBarrier;
      sync.name = description == StringId::kNone ? type : description;
      builder_.rows.sync.push(sync);
      keepEvent(source, TableId::kSync, row, from, length);
    } else {
      auto kernel = place(KernelRow{});
      kernel.name = description;
      if (api != nullptr) {
        const StringId* name = kernels_.find(*api);
        if (kernel.name == StringId::kNone && name != nullptr) kernel.name = *name;
        if (const LaunchShapeRow* grid = shapes_.find(*api)) {
          LaunchShapeRow shape = *grid;
          if (call == nullptr || !call->work_items) {
            shape.global_x *= shape.local_x;
            shape.global_y *= shape.local_y;
            shape.global_z *= shape.local_z;
          }
          shape.dimensions = shape.global_z > 1 ? 3 : shape.global_y > 1 ? 2 : 1;
          kernel.shape_id = builder_.shape(shape);
        }
      }
      if (kernel.name == StringId::kNone) kernel.name = type;
      builder_.rows.kernel.push(kernel);
      keepEvent(source, TableId::kKernel, row, from, length);
    }
    return !builder_.failed();
  });
}

void RpdImport::monitors() {
  const SqliteTable* table = take("rocpd_monitor");
  if (table == nullptr) return;
  const int start = table->find("start");
  const int value = table->find("value");
  SqliteSource source(builder_, *table, table->name, {.start = start});
  file_.scan(*table, [&](const SqliteRow& row) {
    ++counts_.events;
    const std::optional<double> reading = row.type(value) == SqliteType::kText
                                              ? realNumber(row.bytes(value))
                                              : std::optional<double>(row.real(value));
    if (!reading || !isTime(row, start)) {
      keepUnknown(source, row);
      return !builder_.failed();
    }
    const std::string title = std::string(row.bytes(table->find("deviceType"))) + " " +
                              std::to_string(row.integer(table->find("deviceId"))) + " " +
                              std::string(row.bytes(table->find("monitorType")));
    builder_.rows.counter.push({.time_ns = row.integer(start),
                                .track_id = builder_.counterTrack({.name = builder_.text(title)}),
                                .value = *reading});
    keepEvent(source, TableId::kCounter, row, row.integer(start), 0);
    return !builder_.failed();
  });
}

void RpdImport::others() {
  for (const SqliteTable& table : file_.tables()) {
    if (taken_.contains(&table)) continue;
    SqliteSource source(builder_, table, table.name, {});
    const bool known = table.name.starts_with("rocpd_");
    file_.scan(table, [&](const SqliteRow& row) {
      if (known) {
        ++counts_.metadata;
        source.keepAlone(row);
      } else {
        ++counts_.events;
        keepUnknown(source, row);
      }
      return !builder_.failed();
    });
  }
}

/// In rocpd databases the table names end in a UUID. One event table is enough to recognise an RPD
/// file; the others only add details.
bool isRpd(const SqliteFile& file) {
  return file.find("rocpd_op") != nullptr || file.find("rocpd_api") != nullptr;
}

bool recognisesRpd(const ImportInput& input) {
  constexpr auto kWords = std::to_array<std::string_view>({"\"rocpd_op\"", "\"rocpd_api\""});
  return hasSqliteTables(input, kWords, isRpd);
}

Result<ImportCounts> runRpd(const ImportInput& input, TraceWriter& writer, Trace facts) {
  TS_TRY(const std::unique_ptr<SqliteFile> file, SqliteFile::open(input));
  return RpdImport(*file, writer, std::move(facts)).run();
}

}  // namespace

constinit const Importer kRpdImporter = {"rocmProfileData (RPD)", "", recognisesRpd, runRpd};

}  // namespace tracesmith::import
