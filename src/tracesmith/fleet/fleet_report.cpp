// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/fleet/fleet_report.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "tracesmith/analysis/kernel_names/kernel_labels.hpp"
#include "tracesmith/analysis/report/report_parts.hpp"
#include "tracesmith/base/human_units.hpp"

namespace tracesmith {
namespace {

using Q = Quantity;
using report_parts::note;
using report_parts::noteRest;

ReportValue ns(const WideSum& sum) { return sum.asInt64(); }
ReportValue ns(uint64_t value) {
  return static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX));
}
ReportValue shareOf(const WideSum& part, const WideSum& whole) {
  if (whole.low == 0 && whole.high == 0) return {};
  return part.asDouble() / whole.asDouble();
}

/// The columns that describe a set of durations.
std::vector<ReportColumn> timeColumns() {
  return {{"count", "count", Q::kCount},    {"total_ns", "total", Q::kNs},
          {"share", "share", Q::kShare, 2}, {"mean_ns", "mean", Q::kNs},
          {"p50_ns", "median", Q::kNs, 1},  {"p95_ns", "95 %", Q::kNs, 3},
          {"p99_ns", "99 %", Q::kNs, 4},    {"min_ns", "shortest", Q::kNs, 5},
          {"max_ns", "longest", Q::kNs, 3}};
}
void appendTimes(std::vector<ReportValue>& row, const ValueSums& sums, const WideSum& all) {
  row.insert(row.end(),
             {count(sums.count), ns(sums.sum), shareOf(sums.sum, all),
              static_cast<int64_t>(sums.mean()), ns(sums.quantile(0.5)), ns(sums.quantile(0.95)),
              ns(sums.quantile(0.99)), ns(sums.count == 0 ? 0 : sums.min), ns(sums.max)});
}

class FleetTables {
 public:
  FleetTables(const FleetSummary& summary, const FleetReportOptions& options)
      : summary_(summary), options_(options) {}

  std::vector<ReportTable> make() {
    addFacts();
    addDevices();
    addByName("idle", "Idle time between pieces of work of a stream, by reason", "reason",
              summary_.gaps);
    addByName("kernel_families", "Kernels by family", "family", summary_.families);
    addKernels();
    addCopies();
    addComm();
    addSteps();
    return std::move(tables_);
  }

 private:
  ReportTable& table(std::string key, std::string title, std::vector<ReportColumn> columns) {
    tables_.push_back({std::move(key), std::move(title), std::move(columns), {}, {}});
    return tables_.back();
  }
  size_t limit(size_t all) const {
    return options_.limit == 0 ? all : std::min(all, options_.limit);
  }

  void addFacts() {
    ReportTable& facts =
        table("fleet", "Traces", {{"what", "", Q::kText}, {"value", "", Q::kCount}});
    const auto add = [&](const char* what, uint64_t value) {
      facts.rows.push_back({std::string(what), count(value)});
    };
    add("traces", summary_.traces);
    if (summary_.ranks != summary_.traces) add("ranks in them", summary_.ranks);
    for (const auto& [name, rows] : summary_.events) add(("events: " + name).c_str(), rows);
    const auto addLoss = [&](const char* what, uint64_t value) {
      if (value > 0) add(what, value);
    };
    addLoss("traces that are cut off or still recorded", summary_.incomplete_traces);
    addLoss("traces that are damaged", summary_.damaged_traces);
    addLoss("events that recording lost", summary_.dropped);
    addLoss("events whose other half is missing", summary_.unresolved);
    addLoss("device work whose launch is not in its trace", summary_.without_launch);
    std::string text =
        "longest device time of a trace " + formatDuration(static_cast<int64_t>(std::min<uint64_t>(
                                                summary_.longest_ns.value, INT64_MAX)));
    if (summary_.file_bytes > 0) text += "; files of " + formatBytes(summary_.file_bytes);
    if (summary_.damaged_bytes > 0) {
      text += "; " + formatBytes(summary_.damaged_bytes) + " of them could not be read";
    }
    if (summary_.clock_error_ns.value > 0) {
      text += "; times of devices are right within " +
              formatDuration(static_cast<int64_t>(
                  std::min<uint64_t>(summary_.clock_error_ns.value, INT64_MAX)));
    }
    note(facts, text);
  }

  void addDevices() {
    ReportTable& devices = table("devices", "Devices: shares of the time from first to last work",
                                 {{"device", "device", Q::kText},
                                  {"devices", "number", Q::kCount},
                                  {"span_ns", "time", Q::kNs},
                                  {"utilization", "kernels run", Q::kShare},
                                  {"utilization_p5", "of the 5 % least used", Q::kShare, 1},
                                  {"utilization_p50", "median", Q::kShare, 2},
                                  {"busy", "busy", Q::kShare, 3},
                                  {"compute", "compute", Q::kShare, 4},
                                  {"communication", "communication", Q::kShare, 5},
                                  {"exposed", "of it exposed", Q::kShare, 6},
                                  {"memory", "copies", Q::kShare, 5}});
    constexpr double kMillion = 1e6;
    for (const auto& [name, times] : summary_.devices) {
      const auto quantile = [&, &all = times.utilization](double share) -> ReportValue {
        if (all.count == 0) return {};
        return static_cast<double>(all.quantile(share)) / kMillion;
      };
      ReportValue exposed;
      if (times.communication_ns.low != 0 || times.communication_ns.high != 0) {
        exposed = 1 - times.overlapped_ns.asDouble() / times.communication_ns.asDouble();
      }
      devices.rows.push_back(
          {name, count(times.devices), ns(times.span_ns), shareOf(times.kernel_ns, times.span_ns),
           quantile(0.05), quantile(0.5), shareOf(times.busy_ns, times.span_ns),
           shareOf(times.compute_ns, times.span_ns), shareOf(times.communication_ns, times.span_ns),
           exposed, shareOf(times.memory_ns, times.span_ns)});
    }
    std::stable_sort(devices.rows.begin(), devices.rows.end(), [](const auto& a, const auto& b) {
      return std::get<int64_t>(a[2]) > std::get<int64_t>(b[2]);
    });
    cut(devices);
  }

  void cut(ReportTable& table) const {
    const size_t all = table.rows.size();
    table.rows.resize(limit(all));
    noteRest(table, all);
  }

  /// Entries of a map, by their time.
  template <class T, class SumsOf>
  static std::vector<std::pair<std::string_view, const T*>> byTime(
      const std::map<std::string, T>& map, SumsOf&& sums_of) {
    std::vector<std::pair<std::string_view, const T*>> out;
    for (const auto& [name, value] : map) out.emplace_back(name, &value);
    std::stable_sort(out.begin(), out.end(), [&](const auto& a, const auto& b) {
      return sums_of(*a.second).sum.asDouble() > sums_of(*b.second).sum.asDouble();
    });
    return out;
  }

  ReportTable& addByName(const char* key, const char* title, const char* what,
                         const std::map<std::string, ValueSums>& map) {
    std::vector<ReportColumn> columns = {{what, what, Q::kText}};
    for (ReportColumn& column : timeColumns()) columns.push_back(std::move(column));
    ReportTable& out = table(key, title, std::move(columns));
    WideSum all;
    for (const auto& [name, sums] : map) all.add(sums.sum);
    for (const auto& [name, sums] : byTime(map, [](const ValueSums& s) { return s; })) {
      out.rows.push_back({std::string(name)});
      appendTimes(out.rows.back(), *sums, all);
    }
    cut(out);
    return out;
  }

  void addKernels() {
    ReportTable& kernels = addByName("kernels", "Kernels by time", "name", summary_.kernels);
    WideSum all, left_out;
    uint64_t rows = 0;
    for (const auto& [family, sums] : summary_.families) all.add(sums.sum);
    for (const auto& [family, sums] : summary_.other_kernels) {
      left_out.add(sums.sum);
      rows += sums.count;
    }
    // The share is that of all kernels, also of those without a name here.
    for (auto& row : kernels.rows) {
      row[3] = shareOf(WideSum{static_cast<uint64_t>(std::get<int64_t>(row[2]))}, all);
    }
    if (rows > 0) {
      note(kernels, "summaries leave out names that take the least: " + formatCount(rows) +
                        " kernels with together " + formatDuration(left_out.asInt64()) +
                        ", so that any name may miss up to that");
    }
    if (!options_.short_names) return;
    std::vector<std::string_view> names;
    for (const auto& row : kernels.rows) names.push_back(std::get<std::string>(row[0]));
    const std::vector<std::string> labels = distinctLabels(names);
    for (size_t i = 0; i < labels.size(); ++i) kernels.rows[i][0] = labels[i];
  }

  void addCopies() {
    ReportTable& copies = table("copies", "Copies and fills",
                                {{"kind", "kind", Q::kText},
                                 {"count", "count", Q::kCount},
                                 {"total_ns", "total", Q::kNs},
                                 {"bytes", "bytes", Q::kBytes},
                                 {"bytes_per_s", "rate", Q::kBytesPerSecond},
                                 {"p50_ns", "median", Q::kNs, 1},
                                 {"max_ns", "longest", Q::kNs, 2}});
    for (const auto& [kind, sums] :
         byTime(summary_.copies, [](const TransferSums& s) { return s.time_ns; })) {
      const double seconds = sums->time_ns.sum.asDouble() / 1e9;
      copies.rows.push_back(
          {std::string(kind), count(sums->time_ns.count), ns(sums->time_ns.sum),
           sums->bytes.asInt64(),
           seconds > 0 ? ReportValue(sums->bytes.asDouble() / seconds) : ReportValue(),
           ns(sums->time_ns.quantile(0.5)), ns(sums->time_ns.max)});
    }
    cut(copies);
  }

  void addComm() {
    ReportTable& comm = table("communication", "Calls of communication libraries",
                              {{"function", "function", Q::kText},
                               {"calls", "calls", Q::kCount},
                               {"call_ns", "in calls", Q::kNs},
                               {"work_ns", "work", Q::kNs},
                               {"work_p50_ns", "median", Q::kNs, 1},
                               {"work_p99_ns", "99 %", Q::kNs, 2},
                               {"sent_bytes", "sent", Q::kBytes, 3},
                               {"received_bytes", "received", Q::kBytes, 4}});
    for (const auto& [function, sums] :
         byTime(summary_.comm, [](const CommSums& s) { return s.call_ns; })) {
      const bool has_work = sums->work_ns.count > 0;
      comm.rows.push_back({std::string(function), count(sums->call_ns.count), ns(sums->call_ns.sum),
                           has_work ? ns(sums->work_ns.sum) : ReportValue(),
                           has_work ? ns(sums->work_ns.quantile(0.5)) : ReportValue(),
                           has_work ? ns(sums->work_ns.quantile(0.99)) : ReportValue(),
                           sums->sent_bytes.asInt64(), sums->received_bytes.asInt64()});
    }
    cut(comm);
  }

  void addSteps() {
    std::vector<ReportColumn> columns = timeColumns();
    columns.erase(columns.begin() + 2);  // the share is 1
    ReportTable& steps = table("steps", "Steps that the traces name", std::move(columns));
    if (summary_.steps_ns.count == 0) return;
    steps.rows.emplace_back();
    appendTimes(steps.rows.back(), summary_.steps_ns, summary_.steps_ns.sum);
    steps.rows.back().erase(steps.rows.back().begin() + 2);
  }

  const FleetSummary& summary_;
  const FleetReportOptions& options_;
  std::vector<ReportTable> tables_;
};

}  // namespace

std::vector<ReportTable> fleetReport(const FleetSummary& summary,
                                     const FleetReportOptions& options) {
  return FleetTables(summary, options).make();
}

}  // namespace tracesmith
