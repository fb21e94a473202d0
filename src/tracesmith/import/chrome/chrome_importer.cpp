// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/chrome/chrome_importer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <type_traits>
#include <variant>

#include "tracesmith/base/hash.hpp"
#include "tracesmith/import/chrome/chrome_collectives.hpp"
#include "tracesmith/import/chrome/chrome_counters.hpp"
#include "tracesmith/import/chrome/chrome_rows.hpp"
#include "tracesmith/import/chrome/chrome_slices.hpp"
#include "tracesmith/import/chrome/chrome_sources.hpp"
#include "tracesmith/import/chrome/chrome_times.hpp"
#include "tracesmith/import/chrome/chrome_tracks.hpp"
#include "tracesmith/import/chrome/pending_rows.hpp"
#include "tracesmith/import/common/event_categories.hpp"
#include "tracesmith/import/execution_trace/execution_trace_join.hpp"
#include "tracesmith/import/json/json_events.hpp"
#include "tracesmith/import/json/source_member.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::import {
namespace {

constexpr int64_t kMicrosecond = 1000;
constexpr size_t kBatchRows = 1u << 18;     // two blocks of a table
constexpr size_t kBatchValues = 1u << 23;   // kept values
constexpr size_t kLongestText = 16u << 20;  // limit of a trace's strings
constexpr std::string_view kNodeAttribute = "execution_trace.node";
constexpr std::string_view kBoundArrow = "bind_id";  // name of flows without a name
constexpr std::string_view kRestOfNodes = "execution_trace.rest";

/// The id of a flow. Texts are hexadecimal, as Chrome writes them.
uint64_t boundId(const JsonToken& id) {
  if (id.type == JsonType::kInteger) return static_cast<uint64_t>(id.value);
  std::string_view digits = id.raw;
  if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
  uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [behind, error] = std::from_chars(digits.data(), end, number, 16);
  return error == std::errc() && behind == end ? number : hash64(asBytes(id.raw));
}

class ChromeImporter {
 public:
  ChromeImporter(TraceWriter& writer, Trace delta, ChromeDialect dialect)
      : writer_(writer),
        delta_(std::move(delta)),
        dialect_(dialect),
        unit_ns_(dialect == ChromeDialect::kMcTracer ? 1 : kMicrosecond),
        sources_(delta_, dialect, unit_ns_),
        tracks_(delta_, dialect),
        row_maker_(delta_, tracks_),
        counters_(delta_),
        collectives_(delta_, tracks_) {}

  /// Sets the execution traces whose nodes operators get as attributes.
  void joinWith(ExecutionTraceJoin* join) { join_ = join; }
  void member(std::string_view name, std::string_view raw);
  void event(const ChromeEvent& event);
  Status finish(const JsonEvents& document);
  const Status& status() const { return status_; }
  ImportCounts counts;

 private:
  void row(const ChromePlan& plan, int64_t start_ns, int64_t duration_ns) {
    row_maker_.push(*e_, plan, start_ns, duration_ns);
  }
  TableId slice(ChromePlan& plan, int64_t time_ns);
  int64_t length();
  bool timeOf(int64_t& time_ns);
  OpenSlices::Label labelOf(const ChromePlan& plan, StringId name);
  void boundArrow(int64_t time_ns);
  void attachNode(uint64_t range_row);
  void endSlices();
  void unixTime();
  void joined();
  void losses();
  void writeBatch();
  void writeFirst();
  const JsonToken& value(EventField field) const { return (*e_)[field]; }

  TraceWriter& writer_;
  Trace delta_;
  ChromeDialect dialect_;
  int64_t unit_ns_;  // unit of event times
  ChromeSources sources_;
  ChromeTracks tracks_;
  ChromeRows row_maker_;
  ChromeCounters counters_;
  ChromeCollectives collectives_;
  ExecutionTraceJoin* join_ = nullptr;
  Status status_;
  const ChromeEvent* e_ = nullptr;
  std::string room_;
  uint64_t range_rows_ = 0;
  PendingRows held_;
  size_t rows_ = 0;  // rows since the last batch
  int64_t base_ns_ = 0;
  int64_t first_ns_ = 0;
  bool any_time_ = false;
  OpenSlices slices_;
  SpansOfSource spans_;
  uint64_t never_ended_ = 0;   // start events without an end
  uint64_t never_began_ = 0;   // end events without an open start
  uint64_t broken_times_ = 0;  // events whose "ts" is not a number
  uint64_t undirected_ = 0;    // events with a "bind_id" but no direction
};

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

/// Adds the flow given by "bind_id": it leads from the slice ("flow_out"), to it ("flow_in") or
/// through it.
void ChromeImporter::boundArrow(int64_t time_ns) {
  const JsonToken& id = value(EventField::kBindId);
  const bool in = value(EventField::kFlowIn).raw == "true";
  const bool out = value(EventField::kFlowOut).raw == "true";
  if (!in && !out) {
    ++undirected_;
    return;
  }
  const ProcessId process = tracks_.process(value(EventField::kProcess));
  delta_.flow_event.push({.time_ns = time_ns,
                          .end = !in    ? FlowEnd::kBegin
                                 : !out ? FlowEnd::kEnd
                                        : FlowEnd::kStep,
                          .flow_id = boundId(id),
                          .name = delta_.strings.intern(kBoundArrow),
                          .process_id = process,
                          .thread_id = tracks_.thread(process, value(EventField::kThread))});
  sources_.keepNone(TableId::kFlowEvent);
  ++rows_;
}

/// Length of the current event. An impossible or missing length is counted and becomes 0.
int64_t ChromeImporter::length() {
  if (e_->phase() != 'X') return 0;
  int64_t ns = 0;
  if (!isNumber(value(EventField::kDuration), unit_ns_, ns)) return spans_.between(0, std::nullopt);
  return spans_.lasting(ns);
}

/// The name and category by which the two ends of a slice are matched. Only text names count.
OpenSlices::Label ChromeImporter::labelOf(const ChromePlan& plan, StringId name) {
  return {value(EventField::kName).text ? name : StringId::kNone, row_maker_.categoryOf(*e_, plan)};
}

/// Processes one end of a slice. The end event pushes the row; returns the table it went to.
TableId ChromeImporter::slice(ChromePlan& plan, int64_t time_ns) {
  const ProcessId in = tracks_.process(value(EventField::kProcess));
  const ThreadId on = tracks_.thread(in, value(EventField::kThread));
  if (e_->phase() == 'B') {
    row(plan, time_ns, 0);
    const OpenSlices::Row begun = takeLastRow(delta_, plan.table);
    const StringId name = std::visit([](const auto& r) { return r.name; }, begun);
    slices_.open(on, begun, labelOf(plan, name));
    return SourceRows::kNone;
  }
  const StringId name = row_maker_.text(value(EventField::kName));
  std::optional<OpenSlices::Row> begun = slices_.close(on, labelOf(plan, name), time_ns);
  if (!begun) {
    ++never_began_;
    row(plan, time_ns, 0);
    return plan.table;
  }
  std::visit([&](auto& r) { r.duration_ns = spans_.between(r.start_ns, time_ns); }, *begun);
  return pushRow(delta_, *begun);
}

/// Reads the event's time. Returns false if a trace cannot hold it.
bool ChromeImporter::timeOf(int64_t& time_ns) {
  const JsonToken& time = value(EventField::kTime);
  if (isNumber(time, unit_ns_, time_ns)) return spans_.isTime(time_ns);
  if (e_->phase() == 'M' || !time) return false;
  if (time.isNumber()) {
    spans_.countTooFar();
  } else {
    ++broken_times_;
  }
  return false;
}

void ChromeImporter::event(const ChromeEvent& event) {
  e_ = &event;
  const char phase = event.phase();
  ChromePlan& plan = sources_.plan(event);
  ++counts.events;
  int64_t time_ns = 0;
  const bool timed = timeOf(time_ns);
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
      const int64_t lasted = length();
      row(plan, time_ns, lasted);
      if (phase == 'X' && ChromeCollectives::isAbout(event, table)) {
        collectives_.event(event, table, time_ns, lasted);
      }
    }
    ++counts.rows;
    if (table == TableId::kRange) {
      if (join_ != nullptr && phase == 'X') attachNode(range_rows_);
      ++range_rows_;
    }
    if ((phase == 'X' || phase == 'B') && value(EventField::kBindId)) boundArrow(time_ns);
  } else if (const size_t values =
                 phase == 'C' && timed
                     ? counters_.add(event, tracks_.process(value(EventField::kProcess)), time_ns)
                     : 0;
             values > 0) {
    rows_ += values;
    ++counts.rows;
  } else if (phase == 'M') {
    tracks_.name(event);
    ++counts.metadata;
  } else {
    ++counts.others;
  }
  ++rows_;
  sources_.keep(event, plan, table, end_of_slice);
  if (rows_ >= kBatchRows || sources_.values() >= kBatchValues) writeBatch();
}

void ChromeImporter::member(std::string_view name, std::string_view raw) {
  if (name == "baseTimeNanoseconds") base_ns_ = JsonToken{.raw = raw}.integer();
  tracks_.member(name, raw);
  collectives_.member(name, raw);
  keepSourceMember(name, raw, [&](const std::string& key, std::string_view value) {
    delta_.setMetadata(key, value);
  });
}

void ChromeImporter::writeBatch() {
  held_.hold(delta_, sources_.rows(), rows_);
  sources_.clearRows();
  rows_ = 0;
  while (held_.isFirstDue()) writeFirst();
}

void ChromeImporter::writeFirst() {
  held_.takeFirst(delta_, sources_.rows());
  tracks_.findLateLaunches();
  if (status_) status_ = writer_.write(delta_, &sources_.rows());
  forEachTable(delta_, [](auto& table) { table.clear(); });
  sources_.clearRows();
}

/// Writes how the document's times relate to Unix time.
void ChromeImporter::unixTime() {
  int64_t unix_ns = 0;
  // Small numbers are times of another clock, and so are all of mcTracer's.
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

/// Writes the losses to the trace itself.
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
    const bool more = damage.size() > DamageLog::kMostPlaces;  // the last entry summarises the rest
    add(std::to_string(bytes) + " bytes in " + (more ? "more than " : "") +
        std::to_string(more ? DamageLog::kMostPlaces : damage.size()) +
        " places of the source could not be used, first: " + damage.front().reason);
  }
  const auto tell = [&](uint64_t count, std::string_view what) {
    if (count > 0) say(std::to_string(count) + std::string(what));
  };
  const uint64_t placed_nowhere = broken_times_ + spans_.tooFar();
  tell(counts.others - std::min(counts.others, placed_nowhere),
       " events (asynchronous ones, objects, of an unknown phase, counters without a number, or "
       "without a time) are kept unchanged, but are in no table");
  tell(broken_times_,
       " events have a time (\"ts\") that is not a number: kept unchanged, but in no table");
  tell(counters_.unreadable(),
       " counter values (\"C\") are not numbers: kept unchanged, but "
       "in no table");
  tell(undirected_,
       " events with a \"bind_id\" have neither \"flow_in\" nor \"flow_out\": no "
       "flow starts or ends there");
  spans_.tell(counts.notes, reason);
  tell(never_ended_, " events (\"B\") never ended");
  tell(never_began_,
       " ends (\"E\") match the name and category of no open slice: each is a "
       "separate row");
  tell(slices_.cutShort(),
       " slices (\"B\") end early, with the slice around them: slices "
       "of a thread cannot partially overlap");
  if (join_ != nullptr) {
    if (const std::string doubts = join_->describeUnjoined(); !doubts.empty()) add(doubts);
  }
  if (tracks_.late() > 0) {
    say(std::to_string(tracks_.late()) +
        " pieces of device work come so long before their launch that their thread is unknown");
  }
  if (tracks_.ambiguous() > 0) {
    say(std::to_string(tracks_.ambiguous()) +
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
  if (const std::string doubts = join_->describeUnjoined(); !doubts.empty())
    counts.notes.push_back(doubts);
  const std::string rest = join_->rest();
  if (rest.size() <= kLongestText) {
    delta_.setMetadata(kRestOfNodes, rest);
  } else {
    counts.damage.push_back({.bytes = rest.size(),
                             .reason = "nodes of the execution trace that belong to no operator "
                                       "exceed the longest string of a trace (16 MiB)",
                             .events = 0});
  }
}

/// Writes slices without an end event. No source event belongs to these rows.
void ChromeImporter::endSlices() {
  writeBatch();
  slices_.forEach([&](const OpenSlices::Row& open, bool never_ended) {
    OpenSlices::Row row = open;
    if (never_ended) {
      ++never_ended_;
      if (auto* range = std::get_if<RangeRow>(&row)) range->kind = RangeKind::kBegin;
    }
    pushRow(delta_, row);
  });
}

Status ChromeImporter::finish(const JsonEvents& document) {
  const auto& damage = document.damage();
  counts.damage.insert(counts.damage.begin(), damage.begin(), damage.end());
  endSlices();
  rows_ += collectives_.finish();
  tracks_.settle();
  unixTime();
  if (join_ != nullptr) joined();
  losses();
  delta_.setMetadata("source_form", document.isBareArray() ? "array" : "object");
  writeBatch();
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
  constexpr std::string_view kSpaces = " \t\r\n\xef\xbb\xbf";
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos || (text[first] != '[' && text[first] != '{')) return false;
  const size_t second = text.find_first_not_of(kSpaces, first + 1);
  if (second == std::string_view::npos) return text[first] == '[';  // a list cut off at its start
  if (text[second] == '\0') return false;                           // UTF-16
  if (text[first] == '{') return text[second] == '}' || text.find('"', second) != text.npos;
  return text[second] == ']' || text.find('{', second) != text.npos;
}

/// Imports a profile together with execution traces of the same process. A first pass reads all
/// operators, because matching them with nodes needs all of them.
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
          join.addOperator(event[EventField::kProcess].raw, event[EventField::kThread].raw,
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
