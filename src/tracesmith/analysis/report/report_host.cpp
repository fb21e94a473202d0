// SPDX-License-Identifier: Apache-2.0
// Reports on the path from the host to the device.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tracesmith/analysis/critical_path/critical_path.hpp"
#include "tracesmith/analysis/report/report_parts.hpp"
#include "tracesmith/analysis/timing/launch_analysis.hpp"
#include "tracesmith/base/largest_values.hpp"

namespace tracesmith::report_parts {
namespace {

using Q = Quantity;

void addDistribution(std::vector<ReportValue>& row, const Distribution& d) {
  const auto add = [&](double value, uint64_t needed) {
    row.push_back(d.count < needed ? ReportValue(std::monostate{}) : ReportValue(value));
  };
  add(d.mean, 1);
  add(d.deviation, 2);
  for (const double v : {d.min, d.p25, d.p50, d.p75, d.p95, d.p99, d.max}) add(v, 1);
}

void addColumns(std::vector<ReportColumn>& columns, Quantity quantity, const char* unit) {
  struct Column {
    const char* name;
    int spare;
  };
  constexpr Column kColumns[] = {{"mean", 0}, {"std", 2}, {"min", 6}, {"p25", 5}, {"p50", 0},
                                 {"p75", 4},  {"p95", 3}, {"p99", 7}, {"max", 0}};
  for (const auto& [name, spare] : kColumns) {
    columns.push_back({std::string(name) + unit, name, quantity, spare});
  }
}

void noteBeforeLaunch(ReportTable& table, uint64_t ops) {
  if (ops == 0) return;
  note(table,
       "ops that start before their launch, because host and device clocks disagree, count as a "
       "wait of 0: " +
           std::to_string(ops));
}

/// A segment with its place on the path, counted from the end.
struct NumberedSegment {
  PathSegment segment;
  uint64_t number = 0;
};

/// The longest first; of equal ones the earliest.
bool isLonger(const NumberedSegment& a, const NumberedSegment& b) {
  return a.segment.length() != b.segment.length() ? a.segment.length() > b.segment.length()
                                                  : a.number > b.number;
}

/// All device work of one name, within the time of the path.
struct WorkOfName {
  int64_t on_path = 0, total = 0, count = 0, slack = 0;
};

/// What the tables need of the critical path, summed segment by segment.
class PathSums {
 public:
  explicit PathSums(const Maker& maker)
      : maker_(maker),
        longest_(maker.options.longest == 0 ? SIZE_MAX : maker.options.longest, isLonger),
        by_name_(maker.trace.strings.size() + 1) {}

  void add(const PathSegment& segment) {
    ++pieces_[static_cast<size_t>(segment.bound)];
    longest_.add({segment, longest_.count()});
    const bool work = segment.bound == BoundBy::kCompute ||
                      segment.bound == BoundBy::kCommunication || segment.bound == BoundBy::kMemory;
    if (work) workOf(maker_.ops.ops[segment.op].name).on_path += segment.length();
  }
  void finish(const CriticalPath& path) {
    for (size_t i = 0; i < maker_.ops.ops.size(); ++i) {
      const DeviceOp& op = maker_.ops.ops[i];
      if (op.end_ns <= path.begin_ns || op.begin_ns >= path.end_ns) continue;
      WorkOfName& of = workOf(op.name);
      of.total += op.end_ns - op.begin_ns;
      of.slack += path.slack_ns[i];
      ++of.count;
    }
  }

  const std::array<int64_t, kBounds>& pieces() const { return pieces_; }
  size_t segments() const { return longest_.count(); }
  std::vector<NumberedSegment> takeLongest() { return longest_.take(); }
  /// By StringId.
  const std::vector<WorkOfName>& byName() const { return by_name_; }

 private:
  WorkOfName& workOf(StringId name) {
    const auto id = static_cast<size_t>(name);
    return by_name_[id < by_name_.size() ? id : 0];
  }

  const Maker& maker_;
  std::array<int64_t, kBounds> pieces_{};
  LargestValues<NumberedSegment, decltype(&isLonger)> longest_;
  std::vector<WorkOfName> by_name_;
};

void addBounds(Maker& maker, const CriticalPath& path, const PathSums& sums, int64_t whole_ns) {
  ReportTable& table = maker.table("critical_path", "Critical path",
                                   {{"bound_by", "bound by", Q::kText},
                                    {"time_ns", "time", Q::kNs},
                                    {"share", "share", Q::kShare},
                                    {"segments", "pieces", Q::kCount}});
  for (size_t i = 0; i < kBounds; ++i) {
    if (path.total_ns[i] == 0) continue;
    table.rows.push_back({std::string(toString(static_cast<BoundBy>(i))), path.total_ns[i],
                          shareOf(path.total_ns[i], whole_ns), sums.pieces()[i]});
  }
  if (sums.segments() == 0) {
    table.note = "the trace has no calls and no device work";
    return;
  }
  if (path.threads_left_out > 0) {
    note(table, fmt::format("it ends {:.1f} us after the start of the trace; ranges until {:.1f} "
                            "us are left out, on threads that wait for no device ({})",
                            static_cast<double>(path.end_ns - maker.beginNs()) / 1e3,
                            static_cast<double>(path.left_out_until_ns - maker.beginNs()) / 1e3,
                            path.threads_left_out));
  }
}

void addLongestPieces(Maker& maker, PathSums& sums) {
  const Trace& t = maker.trace;
  ReportTable& table = maker.table("critical_pieces", "Longest segments of the critical path",
                                   {{"begin_ns", "start", Q::kTimeNs},
                                    {"time_ns", "time", Q::kNs},
                                    {"bound_by", "bound by", Q::kText},
                                    {"name", "work, or the call that waited", Q::kText}});
  for (const auto& [segment, number] : sums.takeLongest()) {
    std::string name;
    if (segment.op != DeviceOp::kNone) {
      name = maker.workName(maker.ops.ops[segment.op].name);
    } else if (segment.call != DeviceOp::kNone) {
      name = "after " + std::string(t.text(t.host_call.name[segment.call]));
    }
    table.rows.push_back({segment.begin_ns - maker.beginNs(), segment.length(),
                          std::string(toString(segment.bound)), std::move(name)});
  }
  noteRest(table, sums.segments());
}

void addWorkOnPath(Maker& maker, const PathSums& sums, int64_t whole_ns) {
  ReportTable& table = maker.table("critical_work", "Device work on the critical path",
                                   {{"name", "name", Q::kText},
                                    {"on_path_ns", "on the path", Q::kNs},
                                    {"share", "of it", Q::kShare},
                                    {"total_ns", "total", Q::kNs},
                                    {"count", "count", Q::kCount},
                                    {"mean_slack_ns", "mean slack", Q::kNs}});
  std::vector<std::pair<StringId, WorkOfName>> sorted;
  for (size_t id = 0; id < sums.byName().size(); ++id) {
    if (sums.byName()[id].count > 0) {
      sorted.emplace_back(static_cast<StringId>(id), sums.byName()[id]);
    }
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.on_path > b.second.on_path;
  });
  for (size_t i = 0; i < maker.limit(sorted.size()); ++i) {
    const auto& [name, of] = sorted[i];
    table.rows.push_back({std::string(maker.trace.text(name)), of.on_path,
                          shareOf(of.on_path, whole_ns), of.total, of.count,
                          static_cast<double>(of.slack) / static_cast<double>(of.count)});
  }
  noteRest(table, sorted.size());
}

}  // namespace

void addLaunches(Maker& maker) {
  const LaunchLatency latency = maker.results->launches();
  std::vector<ReportColumn> columns = {{"what", "", Q::kText}, {"count", "count", Q::kCount}};
  addColumns(columns, Q::kNs, "_ns");
  ReportTable& table = maker.table("launch", "Launch latency", std::move(columns));
  const auto add = [&](const char* what, const Distribution& d) {
    std::vector<ReportValue> row = {std::string(what), count(d.count)};
    addDistribution(row, d);
    table.rows.push_back(std::move(row));
  };
  add("call", latency.call);
  add("work", latency.work);
  add("delay", latency.delay);
  add("latency", latency.latency);
  if (latency.without_launch > 0) {
    note(table, "device work without a launch in the trace, not counted here: " +
                    std::to_string(latency.without_launch));
  }
  noteBeforeLaunch(table, latency.before_launch);
}

void addQueueDepths(Maker& maker) {
  std::vector<ReportColumn> columns = maker.placeColumns();
  columns.insert(columns.end(), {{"changes", "changes", Q::kCount, 1},
                                 {"most", "most", Q::kCount},
                                 {"over_time", "mean over time", Q::kNumber}});
  addColumns(columns, Q::kNumber, "");
  ReportTable& table =
      maker.table("queue", "Queue depth (launched, not yet started), the longest queues first",
                  std::move(columns));
  uint64_t before_launch = 0;
  for (const QueueDepth& q : maker.results->queues()) {
    std::vector<ReportValue> row = maker.place(q.device, q.process, q.stream);
    row.insert(row.end(),
               {count(q.at_changes.count), q.most,
                q.mean_over_time ? ReportValue(*q.mean_over_time) : ReportValue(std::monostate{})});
    addDistribution(row, q.at_changes);
    table.rows.push_back(std::move(row));
    before_launch += q.before_launch;
  }
  keepLargest(maker, table, "most");
  noteBeforeLaunch(table, before_launch);
}

void addCriticalPath(Maker& maker) {
  const ReportOptions& options = maker.options;
  PathSums sums(maker);
  CriticalPath path;
  if (options.analysis.as_hta) {
    path =
        CriticalPath::of(maker.trace, maker.ops, options.from_ns, options.to_ns, options.analysis);
    for (size_t i = path.segments.size(); i-- > 0;) sums.add(path.segments[i]);
  } else {
    const TimeRange time{options.from_ns.value_or(maker.range.begin_ns),
                         options.to_ns.value_or(maker.range.end_ns)};
    const OpOrders own = maker.orders == nullptr ? OpOrders::of(maker.ops) : OpOrders();
    path = CriticalPath::visit(
        maker.trace, maker.ops, maker.orders == nullptr ? own : *maker.orders, time,
        options.analysis, [&](const PathSegment& segment) { sums.add(segment); });
  }
  int64_t whole = 0;
  for (const int64_t ns : path.total_ns) whole += ns;
  addBounds(maker, path, sums, whole);
  if (sums.segments() == 0) return;
  sums.finish(path);
  addLongestPieces(maker, sums);
  addWorkOnPath(maker, sums, whole);
}

}  // namespace tracesmith::report_parts
