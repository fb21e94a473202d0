// SPDX-License-Identifier: Apache-2.0
// Reports about the way from the host to the device.
#include "tracesmith/analysis/launch_analysis.hpp"
#include "tracesmith/analysis/report_parts.hpp"

namespace tracesmith::report_parts {
namespace {

using Q = Quantity;

void addDistribution(std::vector<ReportValue>& row, const Distribution& d) {
  for (const double v : {d.mean, d.deviation, d.min, d.p25, d.p50, d.p75, d.p95, d.p99, d.max}) {
    row.emplace_back(v);
  }
}

void addColumns(std::vector<ReportColumn>& columns, Quantity quantity, const char* unit) {
  for (const char* name : {"mean", "std", "min", "p25", "p50", "p75", "p95", "p99", "max"}) {
    columns.push_back({std::string(name) + unit, name, quantity});
  }
}

}  // namespace

void launch(Maker& maker) {
  const LaunchLatency latency = launchLatency(maker.trace, maker.ops, maker.options.analysis);
  std::vector<ReportColumn> columns = {{"what", "", Q::kText}, {"count", "count", Q::kCount}};
  addColumns(columns, Q::kNs, "_ns");
  ReportTable& table = maker.table("launch", "From launches to their work", std::move(columns));
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
    table.note = std::to_string(latency.without_launch) +
                 " pieces of device work have no launch in the trace, and do not count here";
  }
}

void queue(Maker& maker) {
  std::vector<ReportColumn> columns = {{"device", "device", Q::kText},
                                       {"stream", "stream", Q::kText},
                                       {"changes", "changes", Q::kCount},
                                       {"over_time", "mean over time", Q::kNumber}};
  addColumns(columns, Q::kNumber, "");
  ReportTable& table =
      maker.table("queue", "Launched and not yet begun, per stream", std::move(columns));
  for (const QueueDepth& q : queueDepths(maker.trace, maker.ops, maker.options.analysis)) {
    std::vector<ReportValue> row = {maker.deviceName(q.device), maker.streamName(q.stream),
                                    count(q.at_changes.count), q.mean_over_time};
    addDistribution(row, q.at_changes);
    table.rows.push_back(std::move(row));
  }
}

void criticalPath(Maker& maker) { (void)maker; }

}  // namespace tracesmith::report_parts
