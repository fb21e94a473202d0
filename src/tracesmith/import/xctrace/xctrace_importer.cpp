// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/xctrace/xctrace_importer.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>

#include "tracesmith/import/common/source_event.hpp"
#include "tracesmith/import/common/source_interval.hpp"
#include "tracesmith/import/common/source_numbers.hpp"
#include "tracesmith/import/xctrace/xctrace_tables.hpp"

namespace tracesmith::import {
namespace {

/// Unix time (ns) of an ISO 8601 date ("2026-09-02T14:30:12.345+09:00"); 0: not a date.
int64_t unixTimeOf(const std::string& date) {
  namespace chrono = std::chrono;
  int year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0, length = 0;
  if (std::sscanf(date.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &year, &month, &day, &hours, &minutes,
                  &seconds, &length) != 6) {
    return 0;
  }
  const chrono::year_month_day of(chrono::year(year), chrono::month(static_cast<unsigned>(month)),
                                  chrono::day(static_cast<unsigned>(day)));
  const auto isWithin = [](int value, int last) { return value >= 0 && value <= last; };
  if (!of.ok() || !isWithin(hours, 23) || !isWithin(minutes, 59) || !isWithin(seconds, 60))
    return 0;
  const char* rest = date.c_str() + length;
  int64_t ns = 0;
  if (*rest == '.') {
    int64_t unit = 100'000'000;
    for (++rest; *rest >= '0' && *rest <= '9'; ++rest, unit /= 10) ns += (*rest - '0') * unit;
  }
  int64_t offset_s = 0;
  if (*rest == '+' || *rest == '-') {
    int zone_hours = 0, zone_minutes = 0;
    if ((std::sscanf(rest + 1, "%2d:%2d", &zone_hours, &zone_minutes) == 2 ||
         std::sscanf(rest + 1, "%2d%2d", &zone_hours, &zone_minutes) == 2) &&
        isWithin(zone_hours, 23) && isWithin(zone_minutes, 59)) {
      offset_s = (*rest == '-' ? -1 : 1) * (zone_hours * 3600 + zone_minutes * 60);
    }
  }
  const int64_t days = chrono::sys_days(of).time_since_epoch().count();
  const int64_t at = days * 86400 + hours * 3600 + minutes * 60 + seconds;
  constexpr int64_t kLast = 9'000'000'000;  // in 2255; later times do not fit in 64 bits of ns
  if (at <= 0 || at > kLast) return 0;
  return (at - offset_s) * 1'000'000'000 + ns;
}

class XctraceImport {
 public:
  XctraceImport(TraceWriter& writer, Trace facts)
      : builder_(writer, std::move(facts)), kept_(builder_) {}

  bool row(const XctraceSchema& schema, std::span<const XctraceValue> values);
  Status finish(const XctraceTables& tables, ImportCounts& counts);

 private:
  using Values = std::span<const XctraceValue>;

  /// Indices of the relevant columns of a table.
  struct Plan {
    std::string name;
    std::vector<std::string> columns;
    enum Kind : uint8_t {
      kGpu,
      kSubmission,
      kCompletion,
      kCounterName,
      kCounterValue,
      kSpan,
      kOther
    };
    Kind kind = kOther;
    int time = -1, duration = -1, label = -1, process = -1, thread = -1, channel = -1, gpu = -1,
        command_buffer = -1, counter = -1, counter_name = -1, counter_value = -1;
    StringId category{};
  };
  struct Row {
    const Plan& plan;
    Values values;
    int64_t start_ns;
    int64_t duration_ns;
    std::string_view label;
    uint64_t command_buffer;
  };
  const Plan& plan(const XctraceSchema& schema);
  // Each returns the table of the pushed row; SourceRows::kNone: no row.
  TableId push(const Row& row);
  TableId pushWork(const Row& row);
  TableId pushSubmission(const Row& row);
  TableId pushRange(const Row& row);
  TableId pushCounter(const Row& row);
  static const XctraceValue& at(Values values, int column);
  int64_t lengthOfRow(const Plan& plan, Values values);
  int64_t pid(Values values, const Plan& plan);
  ThreadId thread(Values values, const Plan& plan, int64_t in_process);
  int64_t gpu(const XctraceValue& name);
  StreamId channel(int64_t in_process, int64_t on_gpu, std::string_view name);
  KeptEvent source(const Plan& plan, Values values, bool timed, int64_t duration_ns);
  void counterName(uint64_t id, std::string_view name);

  TraceBuilder builder_;
  KeptEvents kept_;
  std::vector<Plan> plans_;
  std::map<std::pair<std::string, std::vector<std::string>>, size_t> plan_of_;
  size_t last_plan_ = 0;
  uint64_t last_schema_ = 0;
  std::map<std::string, int64_t, std::less<>> gpus_;
  std::map<std::tuple<int64_t, int64_t, std::string>, StreamId> channels_;
  std::map<int64_t, std::string> process_names_;
  std::map<int64_t, CounterTrackId> counters_;
  std::map<int64_t, StringId> counter_names_;
  uint64_t events_ = 0;
  uint64_t typed_ = 0;
  uint64_t untimed_ = 0;
  uint64_t unreadable_ = 0;  // counter values
  SpansOfSource spans_;
};

const XctraceValue& XctraceImport::at(Values values, int column) {
  static const XctraceValue kNoValue = {.missing = true};
  return column >= 0 && static_cast<size_t>(column) < values.size()
             ? values[static_cast<size_t>(column)]
             : kNoValue;
}

const XctraceImport::Plan& XctraceImport::plan(const XctraceSchema& schema) {
  if (last_schema_ == schema.serial && last_plan_ < plans_.size()) return plans_[last_plan_];
  last_schema_ = schema.serial;
  const auto [known, fresh] = plan_of_.try_emplace({schema.name, schema.columns}, plans_.size());
  last_plan_ = known->second;
  if (!fresh) return plans_[last_plan_];
  const auto first = [&](std::initializer_list<std::string_view> mnemonics) {
    for (const std::string_view mnemonic : mnemonics) {
      if (const int column = schema.column(mnemonic); column >= 0) return column;
    }
    return -1;
  };
  Plan p;
  p.name = schema.name;
  p.columns = schema.columns;
  p.category = builder_.text(schema.name);
  p.time = first({"start", "timestamp", "time"});
  p.duration = first({"duration"});
  p.label = first({"event-label", "label", "encoder-label", "name", "state", "event-type",
                   "narrative", "gpu-performance-state"});
  p.process = first({"process"});
  p.thread = first({"thread"});
  p.channel = first({"channel-name"});
  p.gpu = first({"gpu", "metal-device-name", "accelerator-id"});
  p.command_buffer = first({"cmdbuffer-id", "command-buffer-id"});
  p.counter = first({"counter-id"});
  if (schema.name == "metal-gpu-intervals") {
    p.kind = Plan::kGpu;
  } else if (schema.name == "metal-application-command-buffer-submissions") {
    p.kind = Plan::kSubmission;
    p.label = first({"event-type", "event-label"});
  } else if (schema.name == "metal-command-buffer-completed") {
    p.kind = Plan::kCompletion;
  } else if (schema.name == "gpu-counter-info") {
    p.kind = Plan::kCounterName;
    p.counter_name = first({"name"});
  } else if (schema.name == "gpu-counter-value") {
    p.kind = Plan::kCounterValue;
    p.counter_value = first({"value"});
  } else if (p.time >= 0 && p.duration >= 0) {
    p.kind = Plan::kSpan;
  }
  plans_.push_back(std::move(p));
  return plans_.back();
}

int64_t XctraceImport::pid(Values values, const Plan& plan) {
  const XctraceValue& process = at(values, plan.process);
  int64_t number = process.pid;
  if (number < 0) number = at(values, plan.thread).pid;
  if (number < 0) number = at(values, plan.label).pid;
  if (number < 0) return 0;
  // The display form is "name (pid)".
  std::string_view name = process.text;
  const std::string suffix = fmt::format(" ({})", number);
  if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  if (!name.empty() && process_names_.emplace(number, name).second) {
    builder_.nameProcess(number, name);
  }
  return number;
}

ThreadId XctraceImport::thread(Values values, const Plan& plan, int64_t in_process) {
  const XctraceValue& thread = at(values, plan.thread);
  if (thread.missing || thread.tid < 0) return ThreadId::kNone;
  const size_t before = builder_.rows.thread.size();
  const ThreadId id = builder_.thread(in_process, thread.tid);
  if (builder_.rows.thread.size() != before) {  // "Main Thread 0x12aa (app, pid: 581)"
    const size_t end = thread.text.find(" 0x");
    builder_.nameThread(in_process, thread.tid, thread.text.substr(0, end));
  }
  return id;
}

int64_t XctraceImport::gpu(const XctraceValue& name) {
  std::string text(name.is_number ? std::to_string(name.number) : std::string(name.text));
  const auto [it, fresh] = gpus_.try_emplace(text, static_cast<int64_t>(gpus_.size()));
  if (fresh) {
    DeviceRow& row = builder_.deviceRow(it->second);
    row.backend = PlatformType::Metal;
    row.vendor = builder_.text("Apple");
    if (!text.empty()) row.name = builder_.text(text);
  }
  return it->second;
}

StreamId XctraceImport::channel(int64_t in_process, int64_t on_gpu, std::string_view name) {
  const auto [it, fresh] = channels_.try_emplace({in_process, on_gpu, std::string(name)});
  if (fresh) {
    const auto number = static_cast<int64_t>(channels_.size()) - 1;
    it->second = builder_.stream(in_process, on_gpu, 0, number);
    builder_.nameStream(it->second, name);
  }
  return it->second;
}

KeptEvent XctraceImport::source(const Plan& plan, Values values, bool timed, int64_t duration_ns) {
  KeptEvent kept;
  kept.text("schema", plan.category);
  kept.open("row");
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string key =
        i < plan.columns.size() ? plan.columns[i] : fmt::format("column {}", i + 1);
    const XctraceValue& v = values[i];
    const bool in_row = timed && v.is_number && v.number >= 0;
    if (in_row && static_cast<int>(i) == plan.time) {
      kept.column(key, SourceGap::kTimeNanos);
    } else if (in_row && static_cast<int>(i) == plan.duration && v.number == duration_ns) {
      kept.column(key, SourceGap::kDurationNanos);
    } else if (v.missing) {
      kept.json(key, builder_.text("null"));
    } else if (v.is_number) {
      kept.integer(key, v.number);
    } else {
      kept.text(key, builder_.text(v.text));
    }
  }
  kept.close();
  return kept;
}

/// Length of the row; -1: rows of that kind have none.
int64_t XctraceImport::lengthOfRow(const Plan& plan, Values values) {
  if (plan.kind != Plan::kGpu && plan.kind != Plan::kSubmission && plan.kind != Plan::kCompletion &&
      plan.kind != Plan::kSpan) {
    return -1;
  }
  if (plan.duration < 0) return 0;
  const XctraceValue& duration = at(values, plan.duration);
  return duration.is_number ? spans_.lasting(duration.number)
                            : spans_.between(at(values, plan.time).number, std::nullopt);
}

bool XctraceImport::row(const XctraceSchema& schema, Values values) {
  const Plan& p = plan(schema);
  ++events_;
  const XctraceValue& time = at(values, p.time);
  const bool timed = time.is_number && spans_.isTime(time.number);
  const Row row = {.plan = p,
                   .values = values,
                   .start_ns = time.number,
                   .duration_ns = timed ? lengthOfRow(p, values) : 0,
                   .label = at(values, p.label).text,
                   .command_buffer = static_cast<uint64_t>(
                       std::max<int64_t>(at(values, p.command_buffer).number, 0))};
  TableId table = SourceRows::kNone;
  if (timed || p.kind == Plan::kCounterName || p.kind == Plan::kOther) {
    table = push(row);
  } else {
    ++untimed_;
  }
  kept_.keep(table, source(p, values, table != SourceRows::kNone, row.duration_ns));
  typed_ += table != SourceRows::kNone ? 1 : 0;
  builder_.added();
  return !builder_.failed();
}

TableId XctraceImport::push(const Row& row) {
  switch (row.plan.kind) {
    case Plan::kGpu:
      return pushWork(row);
    case Plan::kSubmission:
      return pushSubmission(row);
    case Plan::kCompletion:
    case Plan::kSpan:
      return pushRange(row);
    case Plan::kCounterName:
      counter_names_[at(row.values, row.plan.counter).number] =
          builder_.text(at(row.values, row.plan.counter_name).text);
      break;
    case Plan::kCounterValue:
      return pushCounter(row);
    case Plan::kOther:
      break;
  }
  return SourceRows::kNone;
}

TableId XctraceImport::pushWork(const Row& row) {
  const XctraceValue& on = at(row.values, row.plan.channel);
  const int64_t in = pid(row.values, row.plan);
  builder_.rows.kernel.push({.start_ns = row.start_ns,
                             .duration_ns = row.duration_ns,
                             .name = builder_.text(row.label.empty() ? on.text : row.label),
                             .process_id = builder_.process(in),
                             .stream_id = channel(in, gpu(at(row.values, row.plan.gpu)), on.text),
                             .correlation_id = row.command_buffer});
  return TableId::kKernel;
}

TableId XctraceImport::pushSubmission(const Row& row) {
  const int64_t in = pid(row.values, row.plan);
  builder_.rows.host_call.push(
      {.start_ns = row.start_ns,
       .duration_ns = row.duration_ns,
       .name = builder_.text(row.label.empty() ? "CommandBufferSubmission" : row.label),
       .process_id = builder_.process(in),
       .thread_id = thread(row.values, row.plan, in),
       .correlation_id = row.command_buffer,
       .kind = CallKind::kLaunch});
  return TableId::kHostCall;
}

TableId XctraceImport::pushRange(const Row& row) {
  const int64_t in = pid(row.values, row.plan);
  const bool completion = row.plan.kind == Plan::kCompletion;
  const bool instant = completion && row.plan.duration < 0;
  builder_.rows.range.push(
      {.start_ns = row.start_ns,
       .duration_ns = row.duration_ns,
       .kind = instant ? RangeKind::kInstant : RangeKind::kRange,
       .name = completion ? builder_.text("command buffer completed") : builder_.text(row.label),
       .category = row.plan.category,
       .process_id = in != 0 ? builder_.process(in) : ProcessId::kNone,
       .thread_id = thread(row.values, row.plan, in),
       .correlation_id = row.command_buffer});
  return TableId::kRange;
}

TableId XctraceImport::pushCounter(const Row& row) {
  const XctraceValue& value = at(row.values, row.plan.counter_value);
  const std::optional<double> number =
      value.is_number ? static_cast<double>(value.number) : realNumber(value.text);
  if (!number) {
    ++unreadable_;
    return SourceRows::kNone;
  }
  const auto [it, fresh] = counters_.try_emplace(at(row.values, row.plan.counter).number);
  if (fresh) it->second = idAt<CounterTrackId>(counters_.size() - 1);
  builder_.rows.counter.push({.time_ns = row.start_ns, .track_id = it->second, .value = *number});
  return TableId::kCounter;
}

Status XctraceImport::finish(const XctraceTables& tables, ImportCounts& counts) {
  // A counter's name may come after its values, so tracks are written at the end, in order of their
  // ids.
  std::vector<CounterTrackRow> tracks(counters_.size());
  for (const auto& [number, id] : counters_) {
    const auto name = counter_names_.find(number);
    tracks[indexOf(id)].name = name != counter_names_.end()
                                   ? name->second
                                   : builder_.text(fmt::format("counter {}", number));
  }
  for (const CounterTrackRow& track : tracks) builder_.rows.counter_track.push(track);
  const XctraceContents& contents = tables.contents();
  if (!contents.start_date.empty()) {
    builder_.setMetadata("source.start_date", contents.start_date);
    if (const int64_t unix_ns = unixTimeOf(contents.start_date); unix_ns > 0) {
      builder_.unixTime(0, unix_ns);
    }
  }
  if (!contents.device.empty()) builder_.setMetadata("source.device", contents.device);
  if (!contents.process.empty()) builder_.setMetadata("source.process", contents.process);
  if (!contents.template_name.empty()) {
    builder_.setMetadata("source.template", contents.template_name);
  }
  counts.events = events_;
  counts.rows = typed_;
  counts.others = events_ - typed_;
  counts.bytes = tables.bytes();
  counts.damage = tables.damage();
  if (tables.danglingRefs() > 0) {
    counts.damage.push_back(
        {.reason = fmt::format("{} values refer to ids that are not in the document",
                               tables.danglingRefs()),
         .events = 0});
  }
  if (tables.cutTexts() > 0) {
    counts.damage.push_back(
        {.reason = fmt::format("{} values longer than 1 MiB are cut", tables.cutTexts()),
         .events = 0});
  }
  std::string lost;
  const auto say = [&](const std::string& more) { lost += (lost.empty() ? "" : "; ") + more; };
  for (const SourceDamage& d : counts.damage) say(d.reason);
  if (untimed_ > 0) say(fmt::format("{} rows have no time", untimed_));
  if (unreadable_ > 0) say(fmt::format("{} counter values are not numbers", unreadable_));
  spans_.tell(counts.notes, lost);
  if (counts.others > 0) {
    say(
        fmt::format("{} rows of unsupported tables are kept unchanged, but are in "
                    "no table",
                    counts.others));
  }
  return builder_.finish(counts, lost);
}

Result<ImportCounts> runXctrace(const ImportInput& input, TraceWriter& writer, Trace facts) {
  TS_TRY(const std::unique_ptr<ByteSource> source, input.bytes());
  XctraceTables tables;
  XctraceImport import(writer, std::move(facts));
  TS_CHECK_OK(
      tables.run(*source, [&](const XctraceSchema& schema, std::span<const XctraceValue> v) {
        return import.row(schema, v);
      }));
  ImportCounts counts;
  TS_CHECK_OK(import.finish(tables, counts));
  if (counts.events == 0 && counts.damage.empty()) {
    return fail(ErrorCode::kNotATrace,
                "contains no rows: export its tables with xctrace export --xpath", input.path);
  }
  return counts;
}

bool recognisesXctrace(const ImportInput& input) {
  const std::string_view text = input.head;
  const size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string_view::npos || text[first] != '<') return false;
  return text.find("<trace-query-result") != std::string_view::npos ||
         text.find("<trace-toc") != std::string_view::npos;
}

}  // namespace

constinit const Importer kXctraceImporter = {
    "xctrace XML",
    "no real export was available; tested with handwritten tables that follow descriptions of "
    "real ones",
    recognisesXctrace, runXctrace};

}  // namespace tracesmith::import
