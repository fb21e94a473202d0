// SPDX-License-Identifier: Apache-2.0
// Reports on the path from the host to the device.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "tracesmith/analysis/report/report_parts.hpp"
#include "tracesmith/analysis/timing/critical_path.hpp"
#include "tracesmith/analysis/timing/launch_analysis.hpp"

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

void addBounds(Maker& maker, const CriticalPath& path, int64_t whole_ns) {
  ReportTable& table = maker.table("critical_path", "Critical path",
                                   {{"bound_by", "bound by", Q::kText},
                                    {"time_ns", "time", Q::kNs},
                                    {"share", "share", Q::kShare},
                                    {"segments", "pieces", Q::kCount}});
  std::array<int64_t, kBounds> pieces{};
  for (const PathSegment& s : path.segments) ++pieces[static_cast<size_t>(s.bound)];
  for (size_t i = 0; i < kBounds; ++i) {
    if (path.total_ns[i] == 0) continue;
    table.rows.push_back({std::string(toString(static_cast<BoundBy>(i))), path.total_ns[i],
                          shareOf(path.total_ns[i], whole_ns), pieces[i]});
  }
  if (path.segments.empty()) {
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

void addLongestPieces(Maker& maker, const CriticalPath& path) {
  const Trace& t = maker.trace;
  ReportTable& table = maker.table("critical_pieces", "Longest segments of the critical path",
                                   {{"begin_ns", "start", Q::kTimeNs},
                                    {"time_ns", "time", Q::kNs},
                                    {"bound_by", "bound by", Q::kText},
                                    {"name", "work, or the call that waited", Q::kText}});
  std::vector<const PathSegment*> longest;
  for (const PathSegment& s : path.segments) longest.push_back(&s);
  std::stable_sort(longest.begin(), longest.end(), [](const PathSegment* a, const PathSegment* b) {
    return a->length() > b->length();
  });
  const size_t all_pieces = longest.size();
  longest.resize(maker.longest(all_pieces));
  for (const PathSegment* s : longest) {
    std::string name;
    if (s->op != DeviceOp::kNone) {
      name = maker.workName(maker.ops.ops[s->op].name);
    } else if (s->call != DeviceOp::kNone) {
      name = "after " + std::string(t.text(t.host_call.name[s->call]));
    }
    table.rows.push_back({s->begin_ns - maker.beginNs(), s->length(),
                          std::string(toString(s->bound)), std::move(name)});
  }
  noteRest(table, all_pieces);
}

/// All device work of one name, within the time of the path.
struct WorkOfName {
  int64_t on_path = 0, total = 0, count = 0, slack = 0;
};

std::map<StringId, WorkOfName> sumByName(const Maker& maker, const CriticalPath& path) {
  std::map<StringId, WorkOfName> by_name;
  for (size_t i = 0; i < maker.ops.ops.size(); ++i) {
    const DeviceOp& op = maker.ops.ops[i];
    if (op.end_ns <= path.begin_ns || op.begin_ns >= path.end_ns) continue;
    WorkOfName& of = by_name[op.name];
    of.total += op.end_ns - op.begin_ns;
    of.slack += path.slack_ns[i];
    ++of.count;
  }
  for (const PathSegment& s : path.segments) {
    const bool work = s.bound == BoundBy::kCompute || s.bound == BoundBy::kCommunication ||
                      s.bound == BoundBy::kMemory;
    if (work) by_name[maker.ops.ops[s.op].name].on_path += s.length();
  }
  return by_name;
}

void addWorkOnPath(Maker& maker, const CriticalPath& path, int64_t whole_ns) {
  const std::map<StringId, WorkOfName> by_name = sumByName(maker, path);
  ReportTable& table = maker.table("critical_work", "Device work on the critical path",
                                   {{"name", "name", Q::kText},
                                    {"on_path_ns", "on the path", Q::kNs},
                                    {"share", "of it", Q::kShare},
                                    {"total_ns", "total", Q::kNs},
                                    {"count", "count", Q::kCount},
                                    {"mean_slack_ns", "mean slack", Q::kNs}});
  std::vector<std::pair<StringId, WorkOfName>> sorted(by_name.begin(), by_name.end());
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
  const CriticalPath path = CriticalPath::of(maker.trace, maker.ops, maker.options.from_ns,
                                             maker.options.to_ns, maker.options.analysis);
  int64_t whole = 0;
  for (const int64_t ns : path.total_ns) whole += ns;
  addBounds(maker, path, whole);
  if (path.segments.empty()) return;
  addLongestPieces(maker, path);
  addWorkOnPath(maker, path, whole);
}

}  // namespace tracesmith::report_parts
