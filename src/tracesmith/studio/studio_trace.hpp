// SPDX-License-Identifier: Apache-2.0
// A trace with what Studio computes of it. All questions of the page are answered from here. Of a
// file, the columns that the timeline shows are read first, and the others when a question needs
// them.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/export/browse/timeline_details.hpp"
#include "tracesmith/export/browse/timeline_rows.hpp"
#include "tracesmith/query/catalog/trace_tables.hpp"
#include "tracesmith/query/sql/query_engine.hpp"
#include "tracesmith/state/operation_graph.hpp"
#include "tracesmith/studio/counter_series.hpp"
#include "tracesmith/studio/overlay.hpp"
#include "tracesmith/studio/stack_lanes.hpp"
#include "tracesmith/studio/studio_recording.hpp"
#include "tracesmith/studio/tiles/item_names.hpp"
#include "tracesmith/studio/tiles/tile_set.hpp"

namespace tracesmith::studio {

/// Of every table of events reads what the timeline shows, and verifies the other columns, so that
/// all rows are intact if the others are read later. Errors are those of TraceTables::need().
Status readTimeline(TraceTables& tables);

/// Any number of threads may use it at the same time.
class StudioTrace {
 public:
  struct Source {
    std::string path;         ///< as the user gave it
    bool complete = true;     ///< false: cut off, damaged, or still being written
    std::string info = "{}";  ///< JSON of `tracesmith info`
    uint64_t generation = 1;  ///< grows each time the file is read again
  };

  StudioTrace(Source source, Trace trace);
  /// After readTimeline().
  StudioTrace(Source source, TraceTables tables);
  StudioTrace(const StudioTrace&) = delete;
  StudioTrace& operator=(const StudioTrace&) = delete;

  const Source& source() const { return source_; }
  /// Reads what has not been read. Everything but rows(), names(), tiles() and counters() needs it.
  /// Errors are those of TraceTables::needAll(), and kDamaged if rows that are shown are not
  /// intact.
  Status readRest() const;
  /// Memory that readRest() would add.
  uint64_t unreadBytes() const;
  const Trace& trace() const { return *trace_; }
  const TimelineRows& rows() const { return rows_; }
  const ItemNames& names() const { return names_; }
  const TileSet& tiles() const { return tiles_; }

  /// Of the whole trace; made when it is first asked for.
  const std::vector<ReportTable>& findings() const;
  /// What is known of an item, and the rows of host_call and of device work that belong together.
  std::vector<TimelineDetail> details(const DeviceSpan& item) const;
  /// Of the whole trace; made when it is first asked for.
  const Overlay& idleOverlay() const;
  const Overlay& criticalPath() const;
  const std::vector<CounterSeries>& counters() const;
  /// Calls f(engine) while no other thread uses the SQL engine.
  template <class F>
  auto withEngine(F&& f) const -> decltype(f(std::declval<QueryEngine&>())) {
    const std::lock_guard lock(engine_mutex_);
    if (!engine_) {
      TS_TRY(QueryEngine opened, QueryEngine::open(*trace_));
      engine_.emplace(std::move(opened));
    }
    return f(*engine_);
  }
  /// Calls f(stacks) while no other thread does.
  template <class F>
  auto withStacks(F&& f) const -> decltype(f(std::declval<StackLanes&>())) {
    const std::lock_guard lock(stacks_mutex_);
    if (!stacks_) stacks_.emplace(*trace_);
    return f(*stacks_);
  }
  /// The recording beside the trace; opened when it is first asked for. kNotFound: there is none.
  Result<const StudioRecording*> recording() const;
  /// The row of host_call that launched a piece of device work; kNone: unknown.
  uint32_t launchOf(const DeviceSpan& item) const;
  /// What a piece of device work, or a wait of the host, had to wait for, as far as the trace shows
  /// it. Empty for traces with very much work, whose graph would take too much memory.
  struct Wait {
    DeviceSpan for_work;
    Dependency::Why why{};
  };
  std::vector<Wait> waitsOf(const DeviceSpan& item) const;
  /// Pieces of device work that a host call launched, at most `limit`.
  std::vector<DeviceSpan> launchedBy(uint32_t host_call, size_t limit) const;

 private:
  StudioTrace(Source source, std::shared_ptr<const Trace> trace, TraceTables* tables);

  const Source source_;
  const std::shared_ptr<const Trace> trace_;
  mutable std::mutex tables_mutex_;
  mutable std::optional<TraceTables> tables_;  // until everything has been read
  const TimelineRows rows_;
  const ItemNames names_;
  const TileSet tiles_;
  const TimelineDetails details_;
  mutable std::mutex details_mutex_;
  mutable std::mutex engine_mutex_;
  mutable std::optional<QueryEngine> engine_;
  mutable std::mutex stacks_mutex_;
  mutable std::optional<StackLanes> stacks_;
  mutable std::once_flag operations_made_;
  mutable OperationGraph operations_;
  mutable std::once_flag idle_made_, path_made_;
  mutable Overlay idle_, path_;
  mutable std::once_flag counters_made_;
  mutable std::vector<CounterSeries> counters_;
  mutable std::once_flag findings_made_;
  mutable std::vector<ReportTable> findings_;
  mutable std::once_flag recording_opened_;
  mutable Result<std::unique_ptr<StudioRecording>> recording_;
  mutable std::mutex launches_mutex_;
  mutable std::map<TableId, std::vector<uint32_t>> launches_;  // made when one is asked for
};

}  // namespace tracesmith::studio
