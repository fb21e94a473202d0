// SPDX-License-Identifier: Apache-2.0
// Reports on devices, streams and steps.
#include <algorithm>

#include "tracesmith/analysis/report/report_parts.hpp"
#include "tracesmith/analysis/timing/time_breakdown.hpp"

namespace tracesmith::report_parts {
namespace {

using Q = Quantity;

void addBreakdown(ReportTable& table, const std::string& name, const TimeBreakdown& b) {
  table.rows.push_back({name, b.span_ns, b.busy_ns, b.idle_ns, shareOf(b.busy_ns, b.span_ns),
                        shareOf(b.kernel_ns, b.span_ns), b.compute_ns, b.communication_ns,
                        b.memory_ns, b.non_compute_ns});
}

}  // namespace

void addUtilization(Maker& maker) {
  ReportTable& table = maker.table(
      "gpu_util", "Device utilization (from the first start to the last end of device work)",
      {{"device", "device", Q::kText},
       {"span_ns", "span", Q::kNs},
       {"busy_ns", "busy", Q::kNs},
       {"idle_ns", "idle", Q::kNs},
       {"utilization", "busy/span", Q::kShare},
       {"kernel_utilization", "kernels/span", Q::kShare, 3},
       {"compute_ns", "compute", Q::kNs},
       {"communication_ns", "communication", Q::kNs, 2},
       {"memory_ns", "copies", Q::kNs},
       {"non_compute_ns", "busy, not compute", Q::kNs, 4}});
  const std::vector<TimeBreakdown> devices = maker.results->byDevice();
  double sum = 0;
  for (const TimeBreakdown& b : devices) {
    addBreakdown(table, maker.deviceName(b.device), b);
    sum += b.kernelUtilization();
  }
  // HTA has one device per trace.
  if (maker.options.analysis.as_hta && devices.size() > 1) {
    addBreakdown(table, "all devices together", maker.results->all());
  }
  if (devices.empty()) table.note = "the trace has no device work";
  if (devices.size() > 1) {
    ReportTable& mean = maker.table(
        "gpu_util_mean", "Mean over devices",
        {{"devices", "devices", Q::kCount}, {"kernel_utilization", "kernels/span", Q::kShare}});
    mean.rows.push_back({count(devices.size()), sum / static_cast<double>(devices.size())});
  }
}

void addOverlap(Maker& maker) {
  ReportTable& table = maker.table("overlap", "Time by concurrent classes of work",
                                   {{"device", "device", Q::kText},
                                    {"running", "running", Q::kText},
                                    {"time_ns", "time", Q::kNs},
                                    {"share_of_busy", "of busy", Q::kShare}});
  ReportTable ratio{"comm_comp_overlap",
                    "Communication overlapped by compute",
                    {{"device", "device", Q::kText},
                     {"communication_ns", "communication", Q::kNs, 2},
                     {"beside_compute_ns", "overlapped", Q::kNs},
                     {"overlap", "share", Q::kShare}},
                    {},
                    {}};
  constexpr std::string_view kNames[] = {
      "",       "compute",        "communication",        "compute+communication",
      "memory", "compute+memory", "communication+memory", "compute+communication+memory"};
  std::vector<TimeBreakdown> devices = maker.results->byDevice();
  if (maker.options.analysis.as_hta) devices = {maker.results->all()};
  for (const TimeBreakdown& b : devices) {
    const std::string name =
        b.device == DeviceId::kNone ? "all devices together" : maker.deviceName(b.device);
    int64_t together = 0;
    for (const int64_t ns : b.together_ns) together += ns;
    for (size_t i = 1; i < b.together_ns.size(); ++i) {
      if (b.together_ns[i] == 0) continue;
      table.rows.push_back(
          {name, std::string(kNames[i]), b.together_ns[i], shareOf(b.together_ns[i], together)});
    }
    ratio.rows.push_back({name, b.communication_ns, b.together_ns[3] + b.together_ns[7],
                          b.overlap ? ReportValue(*b.overlap) : ReportValue(std::monostate{})});
  }
  maker.tables.push_back(std::move(ratio));
}

void addIdleTimes(Maker& maker) {
  std::vector<ReportColumn> columns = maker.placeColumns();
  columns.insert(columns.end(), {{"gaps", "gaps", Q::kCount},
                                 {"idle_ns", "idle", Q::kNs},
                                 {"host_wait_ns", "host was late", Q::kNs},
                                 {"host_wait_share", "late/idle", Q::kShare, 1},
                                 {"kernel_wait_ns", "short gaps", Q::kNs},
                                 {"kernel_wait_share", "short/idle", Q::kShare, 2},
                                 {"other_ns", "other waits", Q::kNs},
                                 {"other_share", "other/idle", Q::kShare, 3}});
  ReportTable& table =
      maker.table("idle", "Idle time of streams between two ops, by reason, the longest first",
                  std::move(columns));
  for (const IdleTime& i : maker.results->idle()) {
    const int64_t total = i.total();
    std::vector<ReportValue> row = maker.place(i.device, i.process, i.stream);
    row.insert(row.end(), {count(i.gaps), total, i.host_wait_ns, shareOf(i.host_wait_ns, total),
                           i.kernel_wait_ns, shareOf(i.kernel_wait_ns, total), i.other_ns,
                           shareOf(i.other_ns, total)});
    table.rows.push_back(std::move(row));
  }
  keepLargest(maker, table, "idle_ns");
  addLateHost(maker);
}

void addStreams(Maker& maker) {
  std::vector<ReportColumn> columns = maker.placeColumns();
  columns.insert(columns.end(), {{"ops", "ops", Q::kCount},
                                 {"kernels", "kernels", Q::kCount},
                                 {"copies", "copies", Q::kCount},
                                 {"fills", "fills", Q::kCount, 2},
                                 {"busy_ns", "busy", Q::kNs},
                                 {"span_ns", "span", Q::kNs, 1},
                                 {"utilization", "busy/span", Q::kShare}});
  ReportTable& table = maker.table("streams", "Streams, the busiest first", std::move(columns));
  for (const StreamUse& s : maker.results->streams()) {
    std::vector<ReportValue> row = maker.place(s.device, s.process, s.stream);
    row.insert(row.end(), {count(s.ops), count(s.kernels), count(s.copies), count(s.fills),
                           s.busy_ns, s.span(), shareOf(s.busy_ns, s.span())});
    table.rows.push_back(std::move(row));
  }
  keepLargest(maker, table, "busy_ns");
}

void addStepTimes(Maker& maker) {
  const StepUses found = maker.results->steps();
  const std::vector<Step>& all = found.steps.all;
  std::vector<ReportColumn> columns = {{"step", "step", Q::kText},
                                       {"begin_ns", "start", Q::kTimeNs},
                                       {"duration_ns", "duration", Q::kNs},
                                       {"launched", "ops launched", Q::kCount, 3},
                                       {"busy_ns", "device busy", Q::kNs},
                                       {"compute_ns", "compute", Q::kNs},
                                       {"communication_ns", "communication", Q::kNs, 2},
                                       {"exposed_ns", "communication alone", Q::kNs, 4},
                                       {"memory_ns", "copies", Q::kNs, 1}};
  const bool several = std::any_of(all.begin(), all.end(), [&](const Step& step) {
    return step.process != all.front().process;
  });
  if (several) columns.insert(columns.begin() + 1, {"process", "process", Q::kText});
  ReportTable& table = maker.table("steps", "Steps", std::move(columns));
  table.note = found.steps.basis();
  const int64_t begin = maker.beginNs();
  for (size_t i = 0; i < maker.limit(all.size()); ++i) {
    const TimeBreakdown& b = found.uses[i].times;
    std::vector<ReportValue> row = {std::string(all[i].nameIn(maker.trace))};
    if (several) row.emplace_back(maker.processName(all[i].process));
    row.insert(row.end(),
               {lengthOf(begin, all[i].begin_ns), all[i].duration(), count(found.uses[i].launched),
                b.busy_ns, b.compute_ns, b.communication_ns,
                b.communication_ns - b.together_ns[3] - b.together_ns[7], b.memory_ns});
    table.rows.push_back(std::move(row));
  }
  noteRest(table, all.size());
}

}  // namespace tracesmith::report_parts
