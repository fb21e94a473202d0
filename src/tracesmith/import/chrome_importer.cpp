// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/chrome_importer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "tracesmith/base/hash.hpp"
#include "tracesmith/import/chrome_categories.hpp"
#include "tracesmith/import/chrome_places.hpp"
#include "tracesmith/import/chrome_sources.hpp"
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
constexpr std::string_view kNodeAttribute = "execution_trace.node";
constexpr std::string_view kRestOfNodes = "execution_trace.rest";

class ChromeImporter {
 public:
  ChromeImporter(TraceWriter& writer, Trace delta, ChromeDialect dialect)
      : writer_(writer),
        delta_(std::move(delta)),
        dialect_(dialect),
        unit_ns_(dialect == ChromeDialect::kMcTracer ? 1 : kMicrosecond),
        sources_(delta_, dialect, unit_ns_),
        places_(delta_, dialect) {}

  /// Operators get the nodes of an execution trace as attributes.
  void joinWith(ExecutionTraceJoin* join) { join_ = join; }
  void member(std::string_view name, std::string_view raw);
  void event(const ChromeEvent& event);
  Status finish(const JsonEvents& document);
  const Status& status() const { return status_; }
  ImportCounts counts;

 private:
  bool timeOf(const JsonToken& time, int64_t& ns) const;
  StringId text(const JsonToken& token) { return delta_.strings.intern(textOf(token, room_)); }
  void row(const ChromePlan& plan, int64_t start_ns, int64_t duration_ns);
  void counter(int64_t time_ns);
  void eventWait(const SyncRow& wait);
  void attachNode(uint64_t range_row);
  void unixTime();
  void joined();
  void losses();
  void portion();
  const JsonToken& value(EventField field) const { return (*e_)[field]; }

  TraceWriter& writer_;
  Trace delta_;
  ChromeDialect dialect_;
  int64_t unit_ns_;  // of the times of events
  ChromeSources sources_;
  ChromePlaces places_;
  ExecutionTraceJoin* join_ = nullptr;
  Status status_;
  const ChromeEvent* e_ = nullptr;
  std::string room_;
  uint64_t range_rows_ = 0;
  size_t rows_ = 0;
  int64_t base_ns_ = 0;
  int64_t first_ns_ = 0;
  bool any_time_ = false;
  std::map<std::string, CounterTrackId, std::less<>> tracks_;
};

void ChromeImporter::row(const ChromePlan& plan, int64_t start_ns, int64_t duration_ns) {
  const StringId title = text(value(EventField::kName));
  const auto bytes = [&] {
    return static_cast<uint64_t>(std::max<int64_t>(value(EventField::kArgBytes).integer(), 0));
  };
  // What copies, fills and syncs have in common.
  const auto place = [&](auto row) {
    const ChromePlaces::Work at = places_.workOf(*e_);
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
      kernel.shape_id = places_.launchShape(*e_);
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
      eventWait(sync);
      return;
    }
    case TableId::kHostCall: {
      const ProcessId in = places_.process(value(EventField::kProcess));
      const ThreadId by = places_.thread(in, value(EventField::kThread));
      const uint64_t id = correlationOf(*e_);
      places_.launched(id, in, by);
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
      const ProcessId in = places_.process(value(EventField::kProcess));
      const int64_t size = value(EventField::kArgBytes).integer();
      // PyTorch's DeviceType: 0 is the host.
      const bool on_device = value(EventField::kArgDeviceType).integer(0) != 0;
      const int64_t ordinal = value(EventField::kArgDeviceId).integer(-1);
      delta_.memory_event.push(
          {.time_ns = start_ns,
           .kind = size < 0 ? MemoryKind::kFree : MemoryKind::kAlloc,
           .process_id = in,
           .thread_id = places_.thread(in, value(EventField::kThread)),
           .device_id = on_device && ordinal >= 0 ? places_.device(ordinal) : DeviceId::kNone,
           .address = static_cast<uint64_t>(value(EventField::kArgAddress).integer()),
           .bytes = static_cast<uint64_t>(size < 0 ? -size : size),
           .name = title});
      return;
    }
    case TableId::kFlowEvent: {
      const JsonToken& id = value(EventField::kId);
      const ProcessId in = places_.process(value(EventField::kProcess));
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
                              .thread_id = places_.thread(in, value(EventField::kThread))});
      return;
    }
    default:
      break;
  }
  RangeRow range{
      .start_ns = start_ns, .duration_ns = duration_ns, .name = title, .category = plan.category};
  const char phase = e_->phase();
  if (phase == 'X' && plan.kind == ChromeKind::kDeviceRange) {
    const ChromePlaces::Work at = places_.workOf(*e_);
    range.process_id = at.process;
    range.stream_id = at.stream;
  } else {
    range.kind = phase == 'X'   ? RangeKind::kRange
                 : phase == 'B' ? RangeKind::kBegin
                 : phase == 'E' ? RangeKind::kEnd
                                : RangeKind::kInstant;
    range.process_id = places_.process(value(EventField::kProcess));
    range.thread_id = places_.thread(range.process_id, value(EventField::kThread));
  }
  delta_.range.push(range);
}

/// A wait for an event: for the work that its stream had when the event was recorded.
void ChromeImporter::eventWait(const SyncRow& wait) {
  const int64_t record = value(EventField::kArgRecordCorrelation).integer();
  if (record <= 0 || wait.correlation_id == 0) return;
  const StreamId stream = places_.waitedStream(*e_, wait.process_id);
  if (stream == StreamId::kNone) return;
  delta_.flow.push({.process_id = wait.process_id,
                    .from_correlation_id = static_cast<uint64_t>(record),
                    .to_correlation_id = wait.correlation_id,
                    .kind = FlowKind::kWait,
                    .from_stream_id = stream});
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
  const ProcessId in = places_.process(value(EventField::kProcess));
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
  const char phase = event.phase();
  ChromePlan& plan = sources_.plan(event);
  ++counts.events;
  int64_t time_ns = 0;
  const bool timed = timeOf(value(EventField::kTime), time_ns);
  const TableId table = timed ? plan.table : SourceRows::kNone;
  if (timed && !any_time_) {
    first_ns_ = time_ns;
    any_time_ = true;
  }
  if (table != SourceRows::kNone) {
    row(plan, time_ns, std::max<int64_t>(value(EventField::kDuration).nanoseconds(unit_ns_), 0));
    ++counts.rows;
    if (table == TableId::kRange) {
      if (join_ != nullptr && phase == 'X') attachNode(range_rows_);
      ++range_rows_;
    }
  } else if (phase == 'C' && timed) {
    counter(time_ns);
    ++counts.rows;
  } else if (phase == 'M') {
    places_.name(event);
    ++counts.metadata;
  } else {
    ++counts.others;
  }
  ++rows_;
  sources_.keep(event, plan, table);
  if (rows_ >= kPortionRows || sources_.values() >= kPortionValues) portion();
}

void ChromeImporter::member(std::string_view name, std::string_view raw) {
  if (name == "baseTimeNanoseconds") base_ns_ = JsonToken{.raw = raw}.integer();
  places_.member(name, raw);
  if (raw.size() <= kLongestMember) {
    delta_.setMetadata("source." + std::string(name), raw);
    return;
  }
  counts.damage.push_back({0, raw.size(),
                           "the member \"" + std::string(name) +
                               "\" is larger than a string of a trace may be (16 MiB)"});
}

void ChromeImporter::portion() {
  places_.findLateLaunches();
  if (status_) status_ = writer_.write(delta_, &sources_.rows());
  forEachTable(delta_, [](auto& table) { table.clear(); });
  sources_.clearRows();
  rows_ = 0;
}

/// What Unix time the document's times are.
void ChromeImporter::unixTime() {
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
void ChromeImporter::losses() {
  const std::vector<SourceDamage>& damage = counts.damage;
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
  if (places_.ambiguous() > 0) {
    say(std::to_string(places_.ambiguous()) +
        " correlation ids belong to calls of several processes; work with them has no thread");
  }
  delta_.loss.push({.id = LossId{1},
                    .source = delta_.strings.intern("import"),
                    .emitted = counts.events,
                    .written = counts.events,
                    .reason = delta_.strings.intern(reason)});
}

void ChromeImporter::joined() {
  counts.notes.push_back(fmt::format("{} of {} nodes of the execution trace belong to operators",
                                     join_->joined(), join_->nodes()));
  if (const std::string doubts = join_->doubts(); !doubts.empty()) counts.notes.push_back(doubts);
  const std::string rest = join_->rest();
  if (rest.size() <= kLongestMember) {
    delta_.setMetadata(kRestOfNodes, rest);
  } else {
    counts.damage.push_back({0, rest.size(),
                             "nodes of the execution trace that belong to no operator are more "
                             "than a string of a trace may be (16 MiB)"});
  }
}

Status ChromeImporter::finish(const JsonEvents& document) {
  const auto& damage = document.damage();
  counts.damage.insert(counts.damage.begin(), damage.begin(), damage.end());
  places_.settle();
  unixTime();
  if (join_ != nullptr) joined();
  losses();
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
  counts.damage.insert(counts.damage.end(), join.damage.places().begin(),
                       join.damage.places().end());
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
