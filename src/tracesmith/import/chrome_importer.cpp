// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/chrome_importer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <type_traits>
#include <variant>

#include "tracesmith/base/hash.hpp"
#include "tracesmith/import/chrome_categories.hpp"
#include "tracesmith/import/chrome_places.hpp"
#include "tracesmith/import/chrome_slices.hpp"
#include "tracesmith/import/chrome_sources.hpp"
#include "tracesmith/import/chrome_times.hpp"
#include "tracesmith/import/execution_trace_join.hpp"
#include "tracesmith/import/held_portions.hpp"
#include "tracesmith/import/json_events.hpp"
#include "tracesmith/import/source_member.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::import {
namespace {

constexpr int64_t kMicrosecond = 1000;
constexpr size_t kPortionRows = 1u << 18;    // two blocks of a table
constexpr size_t kPortionValues = 1u << 23;  // beside them
constexpr size_t kLongestText = 16u << 20;   // a string of a trace
constexpr std::string_view kNodeAttribute = "execution_trace.node";
constexpr std::string_view kRestOfNodes = "execution_trace.rest";

/// Of the rows that have two ends.
template <class Row>
TableId tableOfRow(const Row&) {
  if constexpr (std::is_same_v<Row, KernelRow>) return TableId::kKernel;
  if constexpr (std::is_same_v<Row, CopyRow>) return TableId::kCopy;
  if constexpr (std::is_same_v<Row, FillRow>) return TableId::kFill;
  if constexpr (std::is_same_v<Row, SyncRow>) return TableId::kSync;
  if constexpr (std::is_same_v<Row, HostCallRow>) return TableId::kHostCall;
  return TableId::kRange;
}

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
  StringId text(const JsonToken& token) { return delta_.strings.intern(textOf(token, room_)); }
  void row(const ChromePlan& plan, int64_t start_ns, int64_t duration_ns);
  TableId slice(ChromePlan& plan, int64_t time_ns);
  OpenSlices::Row takeLast(TableId table);
  void pushSlice(const OpenSlices::Row& row);
  int64_t length();
  void counter(int64_t time_ns);
  void eventWait(const SyncRow& wait);
  void attachNode(uint64_t range_row);
  void endSlices();
  void unixTime();
  void joined();
  void losses();
  void portion();
  void writeFirst();
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
  HeldPortions held_;
  size_t rows_ = 0;  // since the last portion
  int64_t base_ns_ = 0;
  int64_t first_ns_ = 0;
  bool any_time_ = false;
  std::map<std::string, CounterTrackId, std::less<>> tracks_;
  OpenSlices slices_;
  SpansOfSource spans_;
  uint64_t never_ended_ = 0;  // events whose second end is missing
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
                             .kind = callKindOf(value(EventField::kName).raw, e_->category())});
      return;
    }
    case TableId::kMemoryEvent: {
      const ProcessId in = places_.process(value(EventField::kProcess));
      const int64_t size = value(EventField::kArgBytes).integer();
      // PyTorch's DeviceType: 0 is the host.
      const bool on_device = value(EventField::kArgDeviceType).integer(0) != 0;
      const JsonToken& ordinal = value(EventField::kArgDeviceId);
      delta_.memory_event.push(
          {.time_ns = start_ns,
           .kind = size < 0 ? MemoryKind::kFree : MemoryKind::kAlloc,
           .process_id = in,
           .thread_id = places_.thread(in, value(EventField::kThread)),
           .device_id = on_device ? places_.device(ordinal) : DeviceId::kNone,
           .address = static_cast<uint64_t>(value(EventField::kArgAddress).integer()),
           .bytes = size < 0 ? -static_cast<uint64_t>(size) : static_cast<uint64_t>(size),
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
  if ((phase == 'X' || phase == 'B') && plan.kind == ChromeKind::kDeviceRange) {
    const ChromePlaces::Work at = places_.workOf(*e_);
    range.process_id = at.process;
    range.stream_id = at.stream;
  } else {
    range.kind = phase == 'X' || phase == 'B' ? RangeKind::kRange
                 : phase == 'E'               ? RangeKind::kEnd
                                              : RangeKind::kInstant;
    range.process_id = places_.process(value(EventField::kProcess));
    range.thread_id = places_.thread(range.process_id, value(EventField::kThread));
    places_.happened(range.process_id, value(EventField::kProcess));
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

/// A value for each argument that is a number. A track is of a process, a title, an argument, and
/// the "id" where there is one.
void ChromeImporter::counter(int64_t time_ns) {
  const ProcessId in = places_.process(value(EventField::kProcess));
  std::string title(textOf(value(EventField::kName), room_));
  if (const JsonToken& id = value(EventField::kId)) title.append(" ").append(id.raw);
  for (size_t i = 0; i < e_->values.size(); ++i) {
    const ShapeValue& v = e_->shape->values[i];
    if (!v.argument || !e_->values[i].isNumber()) continue;
    const std::string_view argument = std::string_view(v.key).substr(5);  // without "args."
    std::string key = std::to_string(static_cast<uint32_t>(in)) + '\0' + title + '\0';
    const auto [it, fresh] = tracks_.try_emplace(key.append(argument));
    if (fresh) {
      it->second = idAt<CounterTrackId>(tracks_.size() - 1);
      std::string name = title;
      if (argument != "value" && argument != title) name.append(" ").append(argument);
      delta_.counter_track.push({.name = delta_.strings.intern(name), .process_id = in});
    }
    delta_.counter.push({.time_ns = time_ns,
                         .track_id = it->second,
                         .value = std::strtod(std::string(e_->values[i].raw).c_str(), nullptr)});
    ++rows_;
  }
}

/// Of an event with its length; 0, and counted, where it has none that is possible.
int64_t ChromeImporter::length() {
  if (e_->phase() != 'X') return 0;
  int64_t ns = 0;
  if (!isNumber(value(EventField::kDuration), unit_ns_, ns)) return spans_.between(0, std::nullopt);
  return spans_.lasting(ns);
}

OpenSlices::Row ChromeImporter::takeLast(TableId table) {
  const auto take = [](auto& rows) -> OpenSlices::Row {
    auto row = rows.row(rows.size() - 1);
    rows.resize(rows.size() - 1);
    return row;
  };
  switch (table) {
    case TableId::kKernel:
      return take(delta_.kernel);
    case TableId::kCopy:
      return take(delta_.copy);
    case TableId::kFill:
      return take(delta_.fill);
    case TableId::kSync:
      return take(delta_.sync);
    case TableId::kHostCall:
      return take(delta_.host_call);
    default:
      return take(delta_.range);
  }
}

void ChromeImporter::pushSlice(const OpenSlices::Row& row) {
  std::visit(
      [&](const auto& r) {
        using Row = std::decay_t<decltype(r)>;
        if constexpr (std::is_same_v<Row, KernelRow>) delta_.kernel.push(r);
        if constexpr (std::is_same_v<Row, CopyRow>) delta_.copy.push(r);
        if constexpr (std::is_same_v<Row, FillRow>) delta_.fill.push(r);
        if constexpr (std::is_same_v<Row, SyncRow>) delta_.sync.push(r);
        if constexpr (std::is_same_v<Row, HostCallRow>) delta_.host_call.push(r);
        if constexpr (std::is_same_v<Row, RangeRow>) delta_.range.push(r);
      },
      row);
}

/// One end of an event: with the second one its row is made. The table that it went to.
TableId ChromeImporter::slice(ChromePlan& plan, int64_t time_ns) {
  const ProcessId in = places_.process(value(EventField::kProcess));
  const ThreadId on = places_.thread(in, value(EventField::kThread));
  if (e_->phase() == 'B') {
    row(plan, time_ns, 0);
    slices_.open(on, takeLast(plan.table));
    return SourceRows::kNone;
  }
  std::optional<OpenSlices::Row> begun = slices_.close(on);
  if (!begun) {
    row(plan, time_ns, 0);
    return plan.table;
  }
  return std::visit(
      [&](auto& r) {
        r.duration_ns = spans_.between(r.start_ns, time_ns);
        pushSlice(r);
        return tableOfRow(r);
      },
      *begun);
}

void ChromeImporter::event(const ChromeEvent& event) {
  e_ = &event;
  const char phase = event.phase();
  ChromePlan& plan = sources_.plan(event);
  ++counts.events;
  int64_t time_ns = 0;
  const bool timed =
      isNumber(value(EventField::kTime), unit_ns_, time_ns) && spans_.isTime(time_ns);
  TableId table = timed ? plan.table : SourceRows::kNone;
  if (timed && !any_time_) {
    first_ns_ = time_ns;
    any_time_ = true;
  }
  const bool end_of_slice = phase == 'B' || phase == 'E';
  if (table != SourceRows::kNone) {
    if (end_of_slice) {
      table = slice(plan, time_ns);
    } else {
      row(plan, time_ns, length());
    }
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
  sources_.keep(event, plan, table, end_of_slice);
  if (rows_ >= kPortionRows || sources_.values() >= kPortionValues) portion();
}

void ChromeImporter::member(std::string_view name, std::string_view raw) {
  if (name == "baseTimeNanoseconds") base_ns_ = JsonToken{.raw = raw}.integer();
  places_.member(name, raw);
  keepSourceMember(name, raw, [&](const std::string& key, std::string_view value) {
    delta_.setMetadata(key, value);
  });
}

void ChromeImporter::portion() {
  held_.hold(delta_, sources_.rows(), rows_);
  sources_.clearRows();
  rows_ = 0;
  while (held_.isFirstDue()) writeFirst();
}

void ChromeImporter::writeFirst() {
  held_.takeFirst(delta_, sources_.rows());
  places_.findLateLaunches();
  if (status_) status_ = writer_.write(delta_, &sources_.rows());
  forEachTable(delta_, [](auto& table) { table.clear(); });
  sources_.clearRows();
}

/// What Unix time the document's times are.
void ChromeImporter::unixTime() {
  int64_t unix_ns = 0;
  // Small numbers are those of a clock of its own, and so are mcTracer's.
  constexpr int64_t kUnixNs = 1'000'000'000'000'000'000;  // in 2001
  const bool wall = dialect_ != ChromeDialect::kMcTracer && (base_ns_ > 0 || first_ns_ >= kUnixNs);
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
  const auto add = [&](const std::string& more) { reason += (reason.empty() ? "" : "; ") + more; };
  const auto say = [&](const std::string& more) {
    add(more);
    counts.notes.push_back(more);
  };
  if (!damage.empty()) {
    const bool more = damage.size() > DamageLog::kMostPlaces;  // the last one stands for the rest
    add(std::to_string(bytes) + " bytes in " + (more ? "more than " : "") +
        std::to_string(more ? DamageLog::kMostPlaces : damage.size()) +
        " places of the source could not be used, first: " + damage.front().reason);
  }
  if (counts.others > 0) {
    say(std::to_string(counts.others) +
        " events (asynchronous ones, objects, or without a time) are kept as they were, and are in "
        "no table");
  }
  spans_.tell(counts.notes, reason);
  if (never_ended_ > 0) say(std::to_string(never_ended_) + " events (\"B\") never ended");
  if (join_ != nullptr) {
    if (const std::string doubts = join_->doubts(); !doubts.empty()) add(doubts);
  }
  if (places_.late() > 0) {
    say(std::to_string(places_.late()) +
        " pieces of device work stand so long before their launch that their thread is not known");
  }
  if (places_.ambiguous() > 0) {
    say(std::to_string(places_.ambiguous()) +
        " correlation ids belong to calls of several processes; work with them has no thread");
  }
  LossRow loss = counts.loss();
  loss.source = delta_.strings.intern("import");
  loss.reason = delta_.strings.intern(reason);
  delta_.loss.push(loss);
}

void ChromeImporter::joined() {
  counts.notes.push_back(fmt::format("{} of {} nodes of the execution trace belong to operators",
                                     join_->joined(), join_->nodes()));
  if (const std::string doubts = join_->doubts(); !doubts.empty()) counts.notes.push_back(doubts);
  const std::string rest = join_->rest();
  if (rest.size() <= kLongestText) {
    delta_.setMetadata(kRestOfNodes, rest);
  } else {
    counts.damage.push_back({.bytes = rest.size(),
                             .reason =
                                 "nodes of the execution trace that belong to no operator are "
                                 "more than a string of a trace may be (16 MiB)",
                             .events = 0});
  }
}

/// What is left open: no event of the source goes with these rows.
void ChromeImporter::endSlices() {
  portion();
  slices_.forEach([&](const OpenSlices::Row& open) {
    ++never_ended_;
    OpenSlices::Row row = open;
    if (auto* range = std::get_if<RangeRow>(&row)) range->kind = RangeKind::kBegin;
    pushSlice(row);
  });
}

Status ChromeImporter::finish(const JsonEvents& document) {
  const auto& damage = document.damage();
  counts.damage.insert(counts.damage.begin(), damage.begin(), damage.end());
  endSlices();
  places_.settle();
  unixTime();
  if (join_ != nullptr) joined();
  losses();
  delta_.setMetadata("source_form", document.bare() ? "array" : "object");
  portion();
  while (!held_.empty()) writeFirst();
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
