// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/trace_diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "tracesmith/analysis/distribution.hpp"
#include "tracesmith/analysis/report_parts.hpp"
#include "tracesmith/analysis/steps.hpp"
#include "tracesmith/analysis/time_breakdown.hpp"

namespace tracesmith {
namespace {

using Q = Quantity;

struct Sample {
  std::vector<double> durations;
  double total = 0;
};
using Samples = std::map<std::pair<TableId, std::string>, Sample>;

template <class Table>
void gather(const Trace& trace, const Table& table, Samples& out) {
  std::vector<Sample*> by_id(trace.strings.size() + 1, nullptr);
  constexpr uint32_t kNoTime = op_flags::kDeviceClock | op_flags::kNoDeviceTime;
  for (size_t i = 0; i < table.size(); ++i) {
    if (Table::kId != TableId::kHostCall && (table.flags[i] & kNoTime) != 0) continue;
    auto id = static_cast<size_t>(table.name[i]);
    if (id >= by_id.size()) id = 0;
    if (by_id[id] == nullptr) {
      std::string name(trace.text(table.name[i]));
      if constexpr (std::is_same_v<Table, CopyTable>) {
        if (name.empty()) name = toString(table.kind[i]);
      }
      by_id[id] = &out[{Table::kId, std::move(name)}];
    }
    by_id[id]->durations.push_back(static_cast<double>(table.duration_ns[i]));
    by_id[id]->total += static_cast<double>(table.duration_ns[i]);
  }
}

Samples samplesOf(const Trace& trace) {
  Samples out;
  gather(trace, trace.kernel, out);
  gather(trace, trace.copy, out);
  gather(trace, trace.fill, out);
  gather(trace, trace.host_call, out);
  return out;
}

struct Discoveries {
  double largest_p = -1;  ///< that is still called one
  double needed_p = 0;    ///< what one more would have to be below
};

Discoveries discoveriesOf(std::vector<double> ps, double false_discoveries) {
  std::sort(ps.begin(), ps.end());
  const auto allowed = [&](size_t rank) {
    return false_discoveries * static_cast<double>(rank) / static_cast<double>(ps.size());
  };
  Discoveries out;
  size_t count = 0;
  for (size_t i = 0; i < ps.size(); ++i) {
    if (ps[i] > allowed(i + 1)) continue;
    out.largest_p = ps[i];
    count = i + 1;
  }
  if (!ps.empty()) out.needed_p = allowed(std::min(count + 1, ps.size()));
  return out;
}

std::string what(TableId table) {
  switch (table) {
    case TableId::kCopy:
      return "copy";
    case TableId::kFill:
      return "fill";
    case TableId::kHostCall:
      return "host call";
    default:
      return "kernel";
  }
}

size_t devicesOf(const DeviceOps& ops) {
  std::set<DeviceId> devices;
  for (const StreamOps& s : ops.streams) devices.insert(s.device);
  return devices.size();
}

ReportValue ratioOf(double a, double b) {
  return a > 0 ? ReportValue((b - a) / a) : ReportValue(std::monostate{});
}

}  // namespace

std::string_view toString(DiffStatus status) {
  constexpr std::array<std::string_view, kDiffStatuses> kNames = {
      "same", "slower", "faster", "appeared", "vanished", "unclear"};
  return kNames[static_cast<size_t>(status)];
}

std::vector<NameDiff> diffNames(const Trace& a, const Trace& b, const DiffOptions& options) {
  Samples in_a = samplesOf(a);
  Samples in_b = samplesOf(b);
  std::map<std::pair<TableId, std::string>, bool> names;
  for (const auto& [key, sample] : in_a) names[key] = true;
  for (const auto& [key, sample] : in_b) names[key] = true;
  std::vector<NameDiff> out;
  std::vector<double> ps;
  for (const auto& [key, there] : names) {
    Sample& sa = in_a[key];
    Sample& sb = in_b[key];
    NameDiff d{.name = key.second, .table = key.first};
    d.count_a = sa.durations.size();
    d.count_b = sb.durations.size();
    d.total_a_ns = static_cast<int64_t>(sa.total);
    d.total_b_ns = static_cast<int64_t>(sb.total);
    if (d.count_a > 0) d.mean_a_ns = sa.total / static_cast<double>(d.count_a);
    if (d.count_b > 0) d.mean_b_ns = sb.total / static_cast<double>(d.count_b);
    d.durations = compareRanks(sa.durations, sb.durations);
    // What could not be told alone does not make it harder for the others.
    if (d.durations.least_p <= options.false_discoveries) ps.push_back(d.durations.p);
    out.push_back(std::move(d));
  }
  const Discoveries found = discoveriesOf(std::move(ps), options.false_discoveries);
  for (NameDiff& d : out) {
    if (d.count_a == 0) {
      d.status = DiffStatus::kAppeared;
    } else if (d.count_b == 0) {
      d.status = DiffStatus::kVanished;
    } else if (d.durations.p <= found.largest_p &&
               std::abs(d.durations.effect) >= options.least_effect) {
      d.status = d.durations.effect > 0 ? DiffStatus::kSlower : DiffStatus::kFaster;
    } else if (d.durations.least_p > found.needed_p &&
               std::abs(d.mean_b_ns - d.mean_a_ns) > 0.05 * d.mean_a_ns) {
      d.status = DiffStatus::kUnclear;
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const NameDiff& x, const NameDiff& y) {
    return std::abs(x.total_b_ns - x.total_a_ns) > std::abs(y.total_b_ns - y.total_a_ns);
  });
  return out;
}

std::vector<ReportTable> diffReport(const Trace& a, const Trace& b, const DiffOptions& options,
                                    size_t limit) {
  std::vector<ReportTable> tables;
  ReportTable whole{"diff",
                    "Before and after",
                    {{"what", "", Q::kText},
                     {"a_ns", "A", Q::kNs},
                     {"b_ns", "B", Q::kNs},
                     {"change_ns", "change", Q::kNs},
                     {"change", "relative", Q::kShare}},
                    {},
                    {}};
  const DeviceOps ops_a = DeviceOps::of(a);
  const DeviceOps ops_b = DeviceOps::of(b);
  const TimeBreakdown of_a = sumOverDevices(ops_a);
  const TimeBreakdown of_b = sumOverDevices(ops_b);
  const auto add = [&](const char* name, int64_t va, int64_t vb) {
    whole.rows.push_back({std::string(name), va, vb, vb - va,
                          ratioOf(static_cast<double>(va), static_cast<double>(vb))});
  };
  add("trace", timeRange(a).duration(), timeRange(b).duration());
  add("device span", of_a.span_ns, of_b.span_ns);
  add("device busy", of_a.busy_ns, of_b.busy_ns);
  add("device idle", of_a.idle_ns, of_b.idle_ns);
  add("compute", of_a.compute_ns, of_b.compute_ns);
  add("communication", of_a.communication_ns, of_b.communication_ns);
  add("copies", of_a.memory_ns, of_b.memory_ns);
  const size_t devices_a = devicesOf(ops_a);
  const size_t devices_b = devicesOf(ops_b);
  if (std::max(devices_a, devices_b) > 1) {
    whole.note =
        fmt::format("times of devices are added up: {} in A, {} in B", devices_a, devices_b);
  }
  tables.push_back(std::move(whole));

  std::vector<double> steps_a, steps_b;
  const Steps found_a = stepsOf(a, ops_a);
  const Steps found_b = stepsOf(b, ops_b);
  for (const Step& s : found_a.all) steps_a.push_back(static_cast<double>(s.duration()));
  for (const Step& s : found_b.all) steps_b.push_back(static_cast<double>(s.duration()));
  if (!steps_a.empty() && found_a.from == found_b.from) {
    const RankComparison compared = compareRanks(steps_a, steps_b);
    const Distribution da = distributionOf(steps_a);
    const Distribution db = distributionOf(steps_b);
    ReportTable steps{"diff_steps",
                      "Steps",
                      {{"steps_a", "steps A", Q::kCount},
                       {"steps_b", "steps B", Q::kCount},
                       {"median_a_ns", "median A", Q::kNs},
                       {"median_b_ns", "median B", Q::kNs},
                       {"change", "relative", Q::kShare},
                       {"effect", "effect", Q::kNumber},
                       {"p", "p", Q::kProbability}},
                      {},
                      {}};
    steps.rows.push_back({static_cast<int64_t>(da.count), static_cast<int64_t>(db.count), da.p50,
                          db.p50, ratioOf(da.p50, db.p50), compared.effect, compared.p});
    steps.note = found_a.basis();
    if (found_b.basis() != steps.note) steps.note += "; of B: " + found_b.basis();
    tables.push_back(std::move(steps));
  }

  ReportTable names{"diff_names",
                    "By name, the largest change of the total first",
                    {{"status", "status", Q::kText},
                     {"kind", "kind", Q::kText},
                     {"name", "name", Q::kText},
                     {"count_a", "count A", Q::kCount},
                     {"count_b", "count B", Q::kCount},
                     {"total_a_ns", "total A", Q::kNs},
                     {"total_b_ns", "total B", Q::kNs},
                     {"change_ns", "change", Q::kNs},
                     {"mean_a_ns", "mean A", Q::kNs},
                     {"mean_b_ns", "mean B", Q::kNs},
                     {"effect", "effect", Q::kNumber},
                     {"p", "p", Q::kProbability}},
                    {},
                    {}};
  const std::vector<NameDiff> diffs = diffNames(a, b, options);
  std::array<uint64_t, kDiffStatuses> by_status{};
  for (const NameDiff& d : diffs) ++by_status[static_cast<size_t>(d.status)];
  for (const NameDiff& d : diffs) {
    if (limit != 0 && names.rows.size() == limit) break;
    const bool both = d.count_a > 0 && d.count_b > 0;
    names.rows.push_back({std::string(toString(d.status)), what(d.table), d.name,
                          static_cast<int64_t>(d.count_a), static_cast<int64_t>(d.count_b),
                          d.total_a_ns, d.total_b_ns, d.total_b_ns - d.total_a_ns,
                          d.count_a > 0 ? ReportValue(d.mean_a_ns) : ReportValue(std::monostate{}),
                          d.count_b > 0 ? ReportValue(d.mean_b_ns) : ReportValue(std::monostate{}),
                          both ? ReportValue(d.durations.effect) : ReportValue(std::monostate{}),
                          both ? ReportValue(d.durations.p) : ReportValue(std::monostate{})});
  }
  for (size_t i = 0; i < by_status.size(); ++i) {
    if (by_status[i] == 0) continue;
    names.note += (names.note.empty() ? "" : ", ") + std::to_string(by_status[i]) + " " +
                  std::string(toString(static_cast<DiffStatus>(i)));
  }
  report_parts::noteRest(names, diffs.size());
  tables.push_back(std::move(names));
  return tables;
}

}  // namespace tracesmith
