// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/overlay.hpp"

#include <algorithm>
#include <optional>

#include "tracesmith/analysis/critical_path/critical_path.hpp"
#include "tracesmith/analysis/timing/time_breakdown.hpp"

namespace tracesmith::studio {
namespace {

void sortByStart(Overlay& overlay) {
  std::stable_sort(
      overlay.marks.begin(), overlay.marks.end(),
      [](const OverlayMark& a, const OverlayMark& b) { return a.begin_ns < b.begin_ns; });
}

/// The first lane of each stream, and of the calls and ranges of each thread.
class Lanes {
 public:
  Lanes(const Trace& trace, const TimelineRows& rows) : rows_(rows) {
    for (uint32_t lane = 0; lane < rows.rows.size(); ++lane) {
      const TimelineRow& row = rows.rows[lane];
      if (row.heading || !row.first_lane || row.lane.items().empty()) continue;
      if (row.on_device) {
        streams_.emplace(row.stream, lane);
      } else {
        const DeviceSpan item = row.lane.items()[0];
        const ThreadId thread = item.table == TableId::kRange ? trace.range.thread_id[item.row]
                                                              : trace.host_call.thread_id[item.row];
        threads_.emplace(thread, lane);
      }
    }
  }

  std::optional<uint32_t> ofStream(StreamId stream) const { return find(streams_, stream); }
  std::optional<uint32_t> ofThread(ThreadId thread) const { return find(threads_, thread); }
  /// The lane that has a piece of work: the stream's first one, or one below it.
  std::optional<uint32_t> ofWork(const DeviceOp& op) const {
    std::optional<uint32_t> lane = ofStream(op.stream);
    if (!lane) return std::nullopt;
    for (uint32_t at = *lane; at < rows_.rows.size(); ++at) {
      const TimelineRow& row = rows_.rows[at];
      if (row.heading || (at != *lane && row.first_lane)) break;
      const auto [first, last] = row.lane.within(op.begin_ns, endOf(op.begin_ns, 1));
      for (size_t i = first; i < last; ++i) {
        const DeviceSpan item = row.lane.items()[i];
        if (item.table == op.table && item.row == op.row) return at;
      }
    }
    return lane;
  }

 private:
  template <class Id>
  static std::optional<uint32_t> find(const std::map<Id, uint32_t>& lanes, Id id) {
    const auto known = lanes.find(id);
    return known == lanes.end() ? std::nullopt : std::optional(known->second);
  }

  const TimelineRows& rows_;
  std::map<StreamId, uint32_t> streams_;
  std::map<ThreadId, uint32_t> threads_;
};

}  // namespace

Overlay idleOverlay(const Trace& trace, const TimelineRows& rows) {
  Overlay out{.causes = {"the host was late", "short gap", "other wait"}, .marks = {}};
  const Lanes lanes(trace, rows);
  for (const IdleGap& gap : idleGaps(DeviceOps::of(trace))) {
    const std::optional<uint32_t> lane = lanes.ofStream(gap.stream);
    if (lane)
      out.marks.push_back({gap.begin_ns, gap.end_ns, *lane, static_cast<uint32_t>(gap.reason)});
  }
  sortByStart(out);
  return out;
}

Overlay criticalPathOverlay(const Trace& trace, const TimelineRows& rows) {
  Overlay out;
  for (size_t i = 0; i < kBounds; ++i) out.causes.push_back(toString(static_cast<BoundBy>(i)));
  const Lanes lanes(trace, rows);
  const DeviceOps ops = DeviceOps::of(trace);
  for (const PathSegment& segment : CriticalPath::of(trace, ops).segments) {
    const bool on_host = segment.bound == BoundBy::kHost || segment.bound == BoundBy::kLaunch;
    ThreadId thread = segment.thread;
    if (thread == ThreadId::kNone && segment.call != DeviceOp::kNone) {
      thread = trace.host_call.thread_id[segment.call];
    }
    std::optional<uint32_t> lane = on_host ? lanes.ofThread(thread) : std::nullopt;
    if (!lane && segment.op != DeviceOp::kNone) lane = lanes.ofWork(ops.ops[segment.op]);
    if (!lane) continue;
    out.marks.push_back(
        {segment.begin_ns, segment.end_ns, *lane, static_cast<uint32_t>(segment.bound)});
  }
  sortByStart(out);
  return out;
}

}  // namespace tracesmith::studio
