// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/fleet/fleet_diff.hpp"

#include <fmt/format.h>

#include "tracesmith/analysis/diff/trace_diff.hpp"

namespace tracesmith {

DiffRun diffRunOf(const FleetSummary& summary) {
  DiffRun out;
  const auto add = [&](TableId table, const std::string& name, const ValueSums& durations) {
    out.names[{table, name}] = {
        .durations = {}, .count = durations.count, .total = durations.sum.asDouble()};
  };
  for (const auto& [name, durations] : summary.kernels) add(TableId::kKernel, name, durations);
  for (const auto& [kind, copies] : summary.copies) {
    add(kind == "fill" ? TableId::kFill : TableId::kCopy, kind, copies.time_ns);
  }
  ClassTimes all;
  for (const auto& [name, times] : summary.devices) {
    all.devices += times.devices;
    all.span_ns.add(times.span_ns);
    all.busy_ns.add(times.busy_ns);
    all.compute_ns.add(times.compute_ns);
    all.communication_ns.add(times.communication_ns);
    all.memory_ns.add(times.memory_ns);
  }
  const int64_t span = all.span_ns.asInt64(), busy = all.busy_ns.asInt64();
  out.totals = {{"device span", span},
                {"device busy", busy},
                {"device idle", span - busy},
                {"compute", all.compute_ns.asInt64()},
                {"communication", all.communication_ns.asInt64()},
                {"copies", all.memory_ns.asInt64()}};
  out.devices = all.devices;
  return out;
}

std::vector<ReportTable> fleetDiff(std::span<const FleetSummary> before,
                                   std::span<const FleetSummary> after, size_t limit) {
  std::vector<DiffRun> a, b;
  size_t shortened = 0;
  const auto addAll = [&](std::span<const FleetSummary> summaries, std::vector<DiffRun>& runs) {
    for (const FleetSummary& summary : summaries) {
      runs.push_back(diffRunOf(summary));
      shortened += summary.other_kernels.empty() ? 0 : 1;
    }
  };
  addAll(before, a);
  addAll(after, b);
  std::vector<ReportTable> tables = diffReport(a, b, {}, limit);
  if (shortened > 0) {
    std::string& note = tables.back().note;
    note += fmt::format(
        "{}{} of {} summaries do not name their smallest kernels, which count as missing from "
        "those traces",
        note.empty() ? "" : "; ", shortened, before.size() + after.size());
  }
  return tables;
}

}  // namespace tracesmith
