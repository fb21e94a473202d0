// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/studio_trace.hpp"

#include <algorithm>
#include <utility>

#include "tracesmith/analysis/timing/launch_index.hpp"
#include "tracesmith/export/select/event_filter.hpp"
#include "tracesmith/findings/findings.hpp"
#include "tracesmith/findings/findings_report.hpp"

namespace tracesmith::studio {
namespace {

TimelineRows allRows(const Trace& trace) {
  const Result<EventMatcher> all = EventMatcher::of(trace, {});
  return timelineRowsOf(trace, *all, false);
}

/// Calls f(table) with the table of device work of an item.
template <class F>
void withWorkTable(const Trace& trace, TableId table, F&& f) {
  switch (table) {
    case TableId::kKernel:
      return f(trace.kernel);
    case TableId::kCopy:
      return f(trace.copy);
    case TableId::kFill:
      return f(trace.fill);
    case TableId::kSync:
      return f(trace.sync);
    default:
      return;
  }
}

/// Of which the dependencies are kept, at about 100 bytes each.
constexpr size_t kMostOperations = 2'000'000;

constexpr TableId kWorkTables[] = {TableId::kKernel, TableId::kCopy, TableId::kFill,
                                   TableId::kSync};

std::shared_ptr<const Trace> traceOf(const TraceTables& tables) {
  const std::shared_ptr<const TraceTables::Loaded> loaded = tables.loaded();
  return {loaded, &loaded->trace};
}

/// Gives back what was needed only to make the lanes.
void forgetLanes(TraceTables& tables) {
  for (const TableId table : kWorkTables) tables.forget(table, {"stream_id", "flags"});
  for (const TableId table : {TableId::kHostCall, TableId::kRange}) {
    tables.forget(table, {"process_id", "thread_id"});
  }
}

}  // namespace

Status readTimeline(TraceTables& tables) {
  Status status;
  const auto read = [&](TableId table, std::initializer_list<std::string_view> columns) {
    if (!status) return;
    if (auto done = tables.need(table, columns); !done) status = tl::unexpected(done.error());
  };
  read(TableId::kKernel, {"start_ns", "duration_ns", "name", "stream_id", "flags"});
  read(TableId::kCopy, {"start_ns", "duration_ns", "kind", "stream_id", "flags"});
  read(TableId::kFill, {"start_ns", "duration_ns", "stream_id", "flags"});
  read(TableId::kSync, {"start_ns", "duration_ns", "kind", "stream_id", "flags"});
  read(TableId::kHostCall, {"start_ns", "duration_ns", "name", "process_id", "thread_id"});
  read(TableId::kRange, {"start_ns", "duration_ns", "name", "process_id", "thread_id"});
  read(TableId::kProgramBuild, {"start_ns", "duration_ns"});
  read(TableId::kCounter, {"time_ns", "track_id", "value"});
  read(TableId::kMemoryEvent,
       {"time_ns", "kind", "process_id", "context_id", "device_id", "address", "bytes"});
  // Of all others the rows are only verified.
  const Trace none;
  forEachTable(none, [&](const auto& table) { read(table.kId, {}); });
  return status;
}

StudioTrace::StudioTrace(Source source, std::shared_ptr<const Trace> trace, TraceTables* tables)
    : source_(std::move(source)),
      trace_(std::move(trace)),
      tables_(tables == nullptr ? std::nullopt : std::optional(std::move(*tables))),
      rows_(allRows(*trace_)),
      names_(*trace_),
      tiles_(rows_, names_),
      details_(*trace_) {}

StudioTrace::StudioTrace(Source source, Trace trace)
    : StudioTrace(std::move(source), std::make_shared<const Trace>(std::move(trace)), nullptr) {}

StudioTrace::StudioTrace(Source source, TraceTables tables)
    : StudioTrace(std::move(source), traceOf(tables), &tables) {
  forgetLanes(*tables_);
}

Status StudioTrace::readRest() const {
  const std::lock_guard lock(tables_mutex_);
  if (!tables_) return {};
  TS_TRY(const std::shared_ptr<const TraceTables::Loaded> all, tables_->needAll());
  if (&all->trace != trace_.get()) {
    return fail(ErrorCode::kDamaged,
                "rows that the timeline shows are not intact; 'tracesmith info' lists the damage",
                source_.path);
  }
  tables_.reset();
  return {};
}

uint64_t StudioTrace::unreadBytes() const {
  const std::lock_guard lock(tables_mutex_);
  return tables_ ? tables_->unreadBytes() : 0;
}

const std::vector<ReportTable>& StudioTrace::findings() const {
  std::call_once(findings_made_, [this] {
    FindingsOptions options;
    options.file = source_.path;
    RecordingBeside recording(source_.path);
    recording.give(options);
    findings_ = findingsReport(findingsOf(*trace_, options));
  });
  return findings_;
}

const Overlay& StudioTrace::idleOverlay() const {
  std::call_once(idle_made_, [this] { idle_ = studio::idleOverlay(*trace_, rows_); });
  return idle_;
}

const Overlay& StudioTrace::criticalPath() const {
  std::call_once(path_made_, [this] { path_ = studio::criticalPathOverlay(*trace_, rows_); });
  return path_;
}

const std::vector<CounterSeries>& StudioTrace::counters() const {
  std::call_once(counters_made_, [this] { counters_ = counterSeriesOf(*trace_); });
  return counters_;
}

std::vector<TimelineDetail> StudioTrace::details(const DeviceSpan& item) const {
  const std::lock_guard lock(details_mutex_);
  return details_.ofItem(item, rows_.zero_ns, TerminalStyle{.utf8 = true});
}

Result<const StudioRecording*> StudioTrace::recording() const {
  std::call_once(recording_opened_, [this] {
    if (RecordingReader::isThere(source_.path)) {
      recording_ = StudioRecording::open(source_.path);
    } else {
      recording_ =
          fail(ErrorCode::kNotFound, "the trace has no recording of its commands", source_.path);
    }
  });
  if (!recording_) return tl::unexpected(recording_.error());
  return recording_->get();
}

uint32_t StudioTrace::launchOf(const DeviceSpan& item) const {
  const std::lock_guard lock(launches_mutex_);
  uint32_t call = LaunchIndex::kNone;
  withWorkTable(*trace_, item.table, [&](const auto& table) {
    const auto [known, fresh] = launches_.try_emplace(item.table);
    if (fresh) known->second = LaunchIndex(*trace_).launchesOf(table);
    call = known->second[item.row];
  });
  return call;
}

std::vector<StudioTrace::Wait> StudioTrace::waitsOf(const DeviceSpan& item) const {
  if (trace_->kernel.size() + trace_->copy.size() + trace_->fill.size() > kMostOperations)
    return {};
  std::call_once(operations_made_, [this] { operations_ = OperationGraph::of(*trace_); });
  const std::vector<Operation>& all = operations_.operations;
  const auto begin = std::partition_point(all.begin(), all.end(), [&](const Operation& operation) {
    return operation.begin_ns < item.begin_ns;
  });
  for (auto at = begin; at != all.end() && at->begin_ns == item.begin_ns; ++at) {
    if (at->table != item.table || at->row != item.row) continue;
    std::vector<Wait> out;
    for (const Dependency& needed : operations_.of(static_cast<size_t>(at - all.begin()))) {
      const Operation& from = all[needed.from];
      out.push_back({{from.begin_ns, from.end_ns, from.table, from.row}, needed.why});
    }
    return out;
  }
  return {};
}

std::vector<DeviceSpan> StudioTrace::launchedBy(uint32_t host_call, size_t limit) const {
  std::vector<DeviceSpan> out;
  for (const TableId id : kWorkTables) {
    withWorkTable(*trace_, id, [&](const auto& table) {
      if (table.size() == 0) return;
      (void)launchOf({.table = id, .row = 0});
      const std::lock_guard lock(launches_mutex_);
      const std::vector<uint32_t>& calls = launches_.at(id);
      for (uint32_t row = 0; row < calls.size() && out.size() < limit; ++row) {
        if (calls[row] != host_call) continue;
        out.push_back(
            {table.start_ns[row], endOf(table.start_ns[row], table.duration_ns[row]), id, row});
      }
    });
  }
  return out;
}

}  // namespace tracesmith::studio
