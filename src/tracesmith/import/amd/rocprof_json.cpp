// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/amd/rocprof_json.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracesmith/import/amd/rocprof_agents.hpp"
#include "tracesmith/import/amd/rocprof_fields.hpp"
#include "tracesmith/import/amd/rocprof_kinds.hpp"
#include "tracesmith/import/common/damage_log.hpp"
#include "tracesmith/import/common/read_all.hpp"
#include "tracesmith/import/common/source_interval.hpp"
#include "tracesmith/import/common/source_numbers.hpp"
#include "tracesmith/import/common/trace_builder.hpp"
#include "tracesmith/import/json/json_records.hpp"
#include "tracesmith/import/json/json_walker.hpp"

namespace tracesmith::import {
namespace {

namespace rf = rocprof_field;

constexpr std::string_view kRoot = "rocprofiler-sdk-tool";

constexpr HeldField kTimes[] = {{rf::kStart, SourceGap::kTimeNanos},
                                {rf::kEnd, SourceGap::kEndNanos}};
constexpr HeldField kTimesAndId[] = {{rf::kStart, SourceGap::kTimeNanos},
                                     {rf::kEnd, SourceGap::kEndNanos},
                                     {rf::kCorrelation, SourceGap::kCorrelation}};
constexpr HeldField kTime[] = {{rf::kStart, SourceGap::kTimeNanos}};

/// What the records of a list become.
enum class Becomes : uint8_t {
  kKernel,
  kCall,
  kMarker,
  kCopy,
  kMemory,
  kRange,
  kCounters,
  kNothing
};

struct Section {
  std::string_view name;
  Becomes becomes;
};
constexpr Section kSections[] = {
    {"buffer_records.kernel_dispatch", Becomes::kKernel},
    {"buffer_records.hip_api", Becomes::kCall},
    {"buffer_records.hsa_api", Becomes::kCall},
    {"buffer_records.rccl_api", Becomes::kCall},
    {"buffer_records.rocdecode_api", Becomes::kCall},
    {"buffer_records.rocjpeg_api", Becomes::kCall},
    {"buffer_records.marker_api", Becomes::kMarker},
    {"buffer_records.memory_copy", Becomes::kCopy},
    {"buffer_records.memory_allocation", Becomes::kMemory},
    {"callback_records.counter_collection", Becomes::kCounters},
};

Becomes becomesOf(std::string_view section) {
  for (const Section& s : kSections) {
    if (s.name == section) return s.becomes;
  }
  // Lists of unknown kinds: records with a start and an end become ranges.
  return section.starts_with("buffer_records.") ? Becomes::kRange : Becomes::kNothing;
}

class RocprofJson {
 public:
  RocprofJson(TraceWriter& writer, Trace facts)
      : builder_(writer, std::move(facts)), records_(rocprofFieldOf, rf::kFields) {}

  Status read(std::string_view document, ImportCounts& counts, DamageLog& damage);

 private:
  struct Symbol {
    std::string_view raw;
    StringId name{};  // set on first use
    bool known = false;
    int64_t group_bytes = -1;
    int64_t registers = 0;
  };
  /// Tables of one process that its records refer to.
  struct Tables {
    int64_t pid = 0;
    bool by_queue = false;
    bool dispatches = false;  // every dispatch has a record
    std::unordered_map<int64_t, Symbol> symbols;
    std::vector<std::vector<std::string>> operations;  // by kind of buffered record
    std::vector<std::string> kinds;
    std::unordered_map<int64_t, std::string> messages;  // texts of markers, by correlation id
    std::unordered_map<int64_t, std::string> counters;
  };
  void gather(JsonWalker& walker);
  void metadata(std::string_view raw);
  void symbol(std::string_view raw);
  void counter(std::string_view raw);
  void strings(std::string_view raw);
  void records(std::string_view process);
  void list(JsonWalker& walker, std::string_view section);
  void record(std::string_view raw, std::string_view section, Becomes becomes);
  bool row(Becomes becomes, std::string_view section, TableId& table);
  bool kernel();
  void counterValues();
  std::string_view operation();
  void keepRaw(std::string_view section, std::string_view raw);
  int64_t number(int field, int64_t missing = 0) const {
    return records_[field] ? records_[field].integer(missing) : missing;
  }
  Symbol* symbolOf(int64_t id);

  TraceBuilder builder_;
  JsonRecords records_;
  JsonMending mended_;
  Tables tables_;
  ImportCounts* counts_ = nullptr;
  SpansOfSource spans_;
  uint64_t unreadable_values_ = 0;  // counter values
  int64_t start_ns_ = 0;
  int64_t duration_ns_ = 0;
};

// --- The tables that records refer to ----------------------------------------------------------

/// Reads a time: a number that fits in 64 bits, rounded to ns. Other numbers are not times (1e9, or
/// those above INT64_MAX, which the tool writes for unknown times).
bool readTime(const JsonToken& token, int64_t& ns) {
  return (token.type == JsonType::kInteger || token.type == JsonType::kDecimal) &&
         token.nanoseconds(1, ns);
}

std::string plain(const JsonToken& token) {
  std::string room;
  return std::string(textOf(token, room));
}

void RocprofJson::metadata(std::string_view raw) {
  std::string command;
  int64_t init = 0;
  forMembers(raw, [&](std::string_view key, const JsonToken& value) {
    if (key == "pid") tables_.pid = value.integer();
    if (key == "init_time") init = value.integer();
    if (key == "command") {
      forElements(value.raw, [&](const JsonToken& word) {
        command += (command.empty() ? "" : " ") + plain(word);
      });
    }
    if (key == "config") {
      forMembers(value.raw, [&](std::string_view name, const JsonToken& setting) {
        if (name == "group_by_queue") tables_.by_queue = setting.raw == "true";
      });
    }
    if (key == "node") {
      forMembers(value.raw, [&](std::string_view name, const JsonToken& of) {
        if (name == "hostname") builder_.setMetadata("hostname", plain(of));
      });
    }
  });
  builder_.process(tables_.pid);
  if (!command.empty()) builder_.nameProcess(tables_.pid, command);
}

void RocprofJson::symbol(std::string_view raw) {
  forMembers(raw, [&](std::string_view key, const JsonToken& value) {
    if (key == "kernel_id") tables_.symbols[value.integer(-1)].raw = raw;
  });
}

/// Interns a name when a kernel first uses it, because a run of a few kernels has thousands of
/// symbols.
RocprofJson::Symbol* RocprofJson::symbolOf(int64_t id) {
  const auto it = tables_.symbols.find(id);
  if (it == tables_.symbols.end()) return nullptr;
  Symbol& symbol = it->second;
  if (symbol.known) return &symbol;
  symbol.known = true;
  std::string formatted, demangled, mangled;
  forMembers(symbol.raw, [&](std::string_view key, const JsonToken& value) {
    if (key == "formatted_kernel_name") formatted = plain(value);
    if (key == "demangled_kernel_name") demangled = plain(value);
    if (key == "kernel_name") mangled = plain(value);
    if (key == "group_segment_size") symbol.group_bytes = value.integer(-1);
    if (key == "arch_vgpr_count" || key == "accum_vgpr_count") {
      symbol.registers += std::clamp<int64_t>(value.integer(), 0, 1 << 16);
    }
  });
  const std::string& name = !formatted.empty()   ? formatted
                            : !demangled.empty() ? demangled
                                                 : mangled;
  symbol.name = builder_.text(name);
  return &symbol;
}

void RocprofJson::counter(std::string_view raw) {
  int64_t id = 0;
  std::string name;
  forMembers(raw, [&](std::string_view key, const JsonToken& value) {
    if (key == "name") name = plain(value);
    if (key != "id") return;
    forMembers(value.raw,
               [&](std::string_view, const JsonToken& handle) { id = handle.integer(); });
  });
  tables_.counters[id] = std::move(name);
}

void RocprofJson::strings(std::string_view raw) {
  forMembers(raw, [&](std::string_view key, const JsonToken& value) {
    if (key == "buffer_records") {
      forElements(value.raw, [&](const JsonToken& kind) {
        tables_.operations.emplace_back();
        tables_.kinds.emplace_back();
        forMembers(kind.raw, [&](std::string_view name, const JsonToken& of) {
          if (name == "kind") tables_.kinds.back() = plain(of);
          if (name != "operations") return;
          forElements(of.raw, [&](const JsonToken& operation) {
            tables_.operations.back().push_back(plain(operation));
          });
        });
      });
    }
    if (key == "marker_api") {
      forElements(value.raw, [&](const JsonToken& message) {
        int64_t id = 0;
        std::string text;
        forMembers(message.raw, [&](std::string_view name, const JsonToken& of) {
          if (name == "key") id = of.integer();
          if (name == "value") text = plain(of);
        });
        tables_.messages[id] = std::move(text);
      });
    }
  });
}

/// First pass: collects everything that records refer to, wherever it is in the document. It checks
/// every byte of the process and repairs what it can; later passes only look things up.
void RocprofJson::gather(JsonWalker& walker) {
  tables_ = {};
  if (!walker.enter('{')) {
    walker.value();
    return;
  }
  for (std::string_view key; walker.member(key);) {
    if (key == "buffer_records" && walker.enter('{')) {
      for (std::string_view name; walker.member(name);) {
        const JsonToken list = walker.value();
        if (name == "kernel_dispatch") tables_.dispatches = list.raw.find('{') != list.raw.npos;
      }
      continue;
    }
    const JsonToken value = walker.value();
    if (walker.failed()) return;
    if (key == "metadata") metadata(value.raw);
    if (key == "strings") strings(value.raw);
    if (key == "kernel_symbols") {
      forElements(value.raw, [&](const JsonToken& one) { symbol(one.raw); });
    }
    if (key == "counters") {
      forElements(value.raw, [&](const JsonToken& one) { counter(one.raw); });
    }
    if (key == "agents") {
      forElements(value.raw, [&](const JsonToken& agent) { addRocprofAgent(agent.raw, builder_); });
    }
  }
}

// --- Records -----------------------------------------------------------------------------------

std::string_view RocprofJson::operation() {
  const auto kind = static_cast<size_t>(number(rf::kKind, -1));
  const auto operation = static_cast<size_t>(number(rf::kOperation, -1));
  if (kind >= tables_.operations.size()) return {};
  const std::vector<std::string>& of = tables_.operations[kind];
  return operation < of.size() ? std::string_view(of[operation]) : tables_.kinds[kind];
}

bool RocprofJson::kernel() {
  const int64_t id = number(rf::kKernel, -1);
  const Symbol* const symbol = symbolOf(id);
  RocprofDispatch dispatch{
      .grid = {number(rf::kGridX), number(rf::kGridY), number(rf::kGridZ)},
      .group = {number(rf::kGroupX), number(rf::kGroupY), number(rf::kGroupZ)},
      .group_bytes = number(rf::kGroupBytes),
      .private_bytes = number(rf::kPrivateBytes),
      .registers = number(rf::kVectorRegisters) + number(rf::kAccumulationRegisters)};
  if (symbol != nullptr) {
    dispatch.static_group_bytes = symbol->group_bytes;
    dispatch.registers = symbol->registers;
  }
  const bool by_stream = !tables_.by_queue && records_[rf::kStream];
  builder_.rows.kernel.push(
      {.start_ns = start_ns_,
       .duration_ns = duration_ns_,
       .name = symbol != nullptr ? symbol->name : builder_.text("kernel #" + std::to_string(id)),
       .process_id = builder_.process(tables_.pid),
       .thread_id = builder_.thread(tables_.pid, number(rf::kThread)),
       .stream_id = builder_.stream(tables_.pid, number(rf::kAgent), 0,
                                    number(by_stream ? rf::kStream : rf::kQueue)),
       .correlation_id = static_cast<uint64_t>(number(rf::kCorrelation)),
       .shape_id = builder_.shape(rocprofShape(dispatch))});
  return true;
}

/// A counter has one value per instance of its block (shader engine, XCC, …). The row holds their
/// sum.
void RocprofJson::counterValues() {
  std::map<int64_t, double> sums;
  forElements(records_[rf::kCounters].raw, [&](const JsonToken& one) {
    int64_t id = 0;
    std::optional<double> value = 0;
    forMembers(one.raw, [&](std::string_view key, const JsonToken& of) {
      if (key == "value") value = realNumber(plain(of));
      if (key != "counter_id") return;
      forMembers(of.raw, [&](std::string_view, const JsonToken& handle) { id = handle.integer(); });
    });
    if (!value) {
      ++unreadable_values_;
      return;
    }
    sums[id] += *value;
  });
  for (const auto& [id, value] : sums) {
    const auto it = tables_.counters.find(id);
    const std::string name =
        it == tables_.counters.end() ? "counter #" + std::to_string(id) : it->second;
    const CounterTrackId track =
        builder_.counterTrack({.name = builder_.text(name),
                               .process_id = builder_.process(tables_.pid),
                               .device_id = builder_.device(number(rf::kAgent))});
    builder_.rows.counter.push({.time_ns = start_ns_, .track_id = track, .value = value});
    builder_.added();
  }
}

/// Pushes the row of the record read last. Returns false if there is none.
bool RocprofJson::row(Becomes becomes, std::string_view section, TableId& table) {
  const ProcessId process = builder_.process(tables_.pid);
  const auto correlation = static_cast<uint64_t>(number(rf::kCorrelation));
  Trace& rows = builder_.rows;
  switch (becomes) {
    case Becomes::kKernel:
      table = TableId::kKernel;
      return kernel();
    case Becomes::kCounters:
      counterValues();
      table = TableId::kKernel;
      return !tables_.dispatches && kernel();
    case Becomes::kCall: {
      const std::string_view name = operation();
      table = TableId::kHostCall;
      rows.host_call.push({.start_ns = start_ns_,
                           .duration_ns = duration_ns_,
                           .name = builder_.text(name),
                           .process_id = process,
                           .thread_id = builder_.thread(tables_.pid, number(rf::kThread)),
                           .correlation_id = correlation,
                           .kind = rocprofCallKind(name)});
      return true;
    }
    case Becomes::kCopy: {
      // Put it on the device involved; if both ends are devices, on the destination.
      const bool to_device = builder_.deviceRow(number(rf::kDestination)).kind != DeviceKind::kCpu;
      table = TableId::kCopy;
      rows.copy.push({.start_ns = start_ns_,
                      .duration_ns = duration_ns_,
                      .kind = rocprofCopyKind(operation()),
                      .process_id = process,
                      .thread_id = builder_.thread(tables_.pid, number(rf::kThread)),
                      .stream_id = builder_.stream(
                          tables_.pid, number(to_device ? rf::kDestination : rf::kSource), 0,
                          number(rf::kStream)),
                      .correlation_id = correlation,
                      .bytes = static_cast<uint64_t>(std::max<int64_t>(number(rf::kBytes), 0)),
                      .name = builder_.text(operation()),
                      .source_device_id = builder_.device(number(rf::kSource)),
                      .destination_device_id = builder_.device(number(rf::kDestination))});
      return true;
    }
    case Becomes::kMemory:
      table = TableId::kMemoryEvent;
      rows.memory_event.push(
          {.time_ns = start_ns_,
           .kind = rocprofMemoryKind(operation()),
           .process_id = process,
           .thread_id = builder_.thread(tables_.pid, number(rf::kThread)),
           .device_id = builder_.device(number(rf::kAgent)),
           .address = std::strtoull(std::string(records_[rf::kAddress].raw).c_str(), nullptr, 0),
           .bytes = static_cast<uint64_t>(std::max<int64_t>(number(rf::kAllocationBytes), 0)),
           .correlation_id = correlation,
           .name = builder_.text(operation())});
      return true;
    case Becomes::kMarker:
    case Becomes::kRange: {
      const auto message = tables_.messages.find(number(rf::kCorrelation));
      const bool named = becomes == Becomes::kMarker && message != tables_.messages.end();
      std::string_view name = named ? std::string_view(message->second) : operation();
      if (name.empty()) name = section;
      table = TableId::kRange;
      rows.range.push({.start_ns = start_ns_,
                       .duration_ns = duration_ns_,
                       .kind = duration_ns_ == 0 ? RangeKind::kInstant : RangeKind::kRange,
                       .name = builder_.text(name),
                       .category = builder_.text(section.substr(section.find('.') + 1)),
                       .process_id = process,
                       .thread_id = builder_.thread(tables_.pid, number(rf::kThread)),
                       .correlation_id = correlation});
      return true;
    }
    case Becomes::kNothing:
      break;
  }
  return false;
}

void RocprofJson::keepRaw(std::string_view section, std::string_view raw) {
  SourceShape shape;
  shape.between = {"{\"" + std::string(section) + "\":", "}"};
  shape.gaps = {{SourceGap::kJson, std::string(section)}};
  const auto kept = static_cast<int64_t>(builder_.json(raw));
  builder_.keep(SourceRows::kNone, builder_.sourceShape(shape), {&kept, 1});
  builder_.added();
}

void RocprofJson::record(std::string_view raw, std::string_view section, Becomes becomes) {
  if (becomes != Becomes::kNothing) ++counts_->events;
  if (!records_.read(raw)) {
    ++(becomes == Becomes::kNothing ? counts_->metadata : counts_->others);
    keepRaw(section, raw);
    return;
  }
  const JsonToken& start = records_[rf::kStart];
  const JsonToken& end = records_[rf::kEnd];
  TableId table = SourceRows::kNone;
  bool exact = false;
  bool made = false;
  int64_t end_ns = 0;
  const bool timed = becomes != Becomes::kNothing && readTime(start, start_ns_) &&
                     readTime(end, end_ns) && spans_.isTime(start_ns_);
  if (timed) {
    duration_ns_ = spans_.between(start_ns_, end_ns);
    exact = start.type == JsonType::kInteger && end.type == JsonType::kInteger &&
            endOf(start_ns_, duration_ns_) == end.value;
    made = row(becomes, section, table);
  }
  if (made) {
    const JsonToken& id = records_[rf::kCorrelation];
    std::span<const HeldField> held;
    if (exact && table == TableId::kMemoryEvent) {
      held = kTime;
    } else if (exact && id.type == JsonType::kInteger && id.value >= 0) {
      held = kTimesAndId;
    } else if (exact) {
      held = kTimes;
    }
    records_.keep(builder_, table, section, held);
    ++counts_->rows;
  } else {
    records_.keep(builder_, SourceRows::kNone, section, {});
    const bool counters = becomes == Becomes::kCounters && timed;
    ++(counters                       ? counts_->rows
       : becomes == Becomes::kNothing ? counts_->metadata
                                      : counts_->others);
  }
  builder_.added();
}

void RocprofJson::list(JsonWalker& walker, std::string_view section) {
  const Becomes becomes = becomesOf(section);
  while (walker.element()) {
    const JsonToken one = walker.value();
    if (walker.failed() || builder_.failed()) return;
    record(one.raw, section, becomes);
  }
}

/// Second pass, in document order: converts lists record by record, and keeps the rest verbatim.
void RocprofJson::records(std::string_view process) {
  JsonWalker walker(process);
  if (!walker.enter('{')) return;
  for (std::string_view key; walker.member(key);) {
    const std::string section(key);
    const bool holds_lists = key == "buffer_records" || key == "callback_records";
    if (holds_lists && walker.enter('{')) {
      for (std::string_view name; walker.member(name);) {
        const std::string of = section + "." + std::string(name);
        if (walker.enter('[')) {
          list(walker, of);
        } else {
          keepRaw(of, walker.value().raw);
        }
      }
    } else if (walker.enter('[')) {
      list(walker, section);
    } else {
      keepRaw(section, walker.value().raw);
    }
    if (builder_.failed()) return;
  }
}

Status RocprofJson::read(std::string_view document, ImportCounts& counts, DamageLog& damage) {
  counts_ = &counts;
  JsonWalker walker(document, &mended_);
  if (!walker.enter('{')) return fail(ErrorCode::kNotATrace, "is not a JSON object");
  bool any = false;
  for (std::string_view key; walker.member(key);) {
    if (key != kRoot || !walker.enter('[')) {
      const std::string name(key);
      const JsonToken value = walker.value();
      if (!walker.failed()) keepRaw(name, value.raw);
      continue;
    }
    any = true;
    while (walker.element()) {
      const char* const begin = walker.place();
      gather(walker);
      // For an unterminated process, use what there is.
      const char* const end = walker.failed() ? document.data() + document.size() : walker.place();
      records({begin, static_cast<size_t>(end - begin)});
    }
  }
  const auto at = static_cast<uint64_t>(walker.place() - document.data());
  if (walker.failed()) {
    damage.add(at, document.size() - at,
               "reading stops here: " + std::string(describe(walker.fault())));
  }
  if (mended_.controls > 0) {
    damage.add(0, 0,
               std::to_string(mended_.controls) + " control characters were replaced by spaces", 0);
  }
  if (mended_.bytes > 0) {
    damage.add(
        0, 0, std::to_string(mended_.bytes) + " bytes are not UTF-8; they were replaced by '?'", 0);
  }
  if (mended_.numbers > 0) {
    damage.add(
        0, 0,
        std::to_string(mended_.numbers) + " invalid numbers (NaN, infinity) were replaced by null",
        0);
  }
  if (!any) return fail(ErrorCode::kNotATrace, "has no list \"rocprofiler-sdk-tool\"");
  counts.damage = damage.places();
  std::string lost = damage.summary();
  spans_.tell(counts.notes, lost);
  reportRecordsWithoutTable(counts, unreadable_values_, 0, lost);
  return builder_.finish(counts, lost);
}

bool recognisesRocprofJson(const ImportInput& input) {
  constexpr size_t kEnough = 4096;
  std::string head = input.head.substr(0, kEnough);
  const size_t length = head.size();
  head.append(kJsonPadding, '\0');
  JsonWalker walker(std::string_view(head).substr(0, length));
  std::string_view key;
  return walker.enter('{') && walker.member(key) && key == kRoot && walker.peek() == '[';
}

Result<ImportCounts> runRocprofJson(const ImportInput& input, TraceWriter& writer, Trace facts) {
  TS_TRY(const std::unique_ptr<ByteSource> source, input.bytes());
  return importRocprofJson(*source, writer, std::move(facts));
}

}  // namespace

Result<ImportCounts> importRocprofJson(ByteSource& source, TraceWriter& writer, Trace facts) {
  std::string cut_short;
  TS_TRY(Column<char> text, readAll(source, kLongestRocprofJson, kJsonPadding, cut_short));
  ImportCounts counts;
  counts.bytes = text.size() - kJsonPadding;
  DamageLog damage;
  if (!cut_short.empty()) damage.add(counts.bytes, 0, cut_short);
  TS_CHECK_OK(RocprofJson(writer, std::move(facts))
                  .read({text.data(), text.size() - kJsonPadding}, counts, damage));
  return counts;
}

constinit const Importer kRocprofJsonImporter = {"rocprofv3 JSON", "", recognisesRocprofJson,
                                                 runRocprofJson};

}  // namespace tracesmith::import
