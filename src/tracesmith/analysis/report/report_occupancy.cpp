// SPDX-License-Identifier: Apache-2.0
// Report on how much of a device launch shapes can occupy.
#include <optional>

#include "tracesmith/analysis/report/report_parts.hpp"
#include "tracesmith/analysis/timing/kernel_occupancy.hpp"

namespace tracesmith::report_parts {
namespace {

using Q = Quantity;

}  // namespace

void addOccupancy(Maker& maker) {
  ReportTable& table =
      maker.table("occupancy",
                  "Theoretical occupancy of launch shapes (resident warps / maximum, limited by "
                  "threads, blocks, registers and shared memory)",
                  {{"name", "kernel", Q::kText},
                   {"launches", "launches", Q::kCount},
                   {"total_ns", "total", Q::kNs},
                   {"threads", "threads/block", Q::kCount, 4},
                   {"registers", "registers", Q::kCount, 5},
                   {"shared_bytes", "shared", Q::kBytes, 6},
                   {"blocks", "blocks", Q::kCount, 7},
                   {"blocks_per_unit", "resident/unit", Q::kCount, 3},
                   {"occupancy", "occupancy", Q::kShare},
                   {"limit", "limited by", Q::kText},
                   {"waves", "waves", Q::kNumber, 2}});
  const Trace& t = maker.trace;
  bool limits_missing = false;
  for (const ShapeUse& use : maker.results->shapes()) {
    const auto s = static_cast<size_t>(use.shape);
    const auto d = static_cast<size_t>(use.device);
    if (s > t.launch_shape.size() || d == 0 || d > t.device.size()) continue;
    const std::optional<KernelOccupancy> found = KernelOccupancy::of(t, use.shape, use.device);
    if (!found) {
      limits_missing = true;
      continue;
    }
    table.rows.push_back(
        {maker.workName(use.name), use.launches, use.total_ns, count(found->threads),
         count(t.launch_shape.registers_per_thread[s - 1]), count(found->shared_bytes),
         count(found->blocks), count(found->blocks_per_unit), found->occupancy,
         std::string(found->limit),
         found->waves == 0 ? ReportValue(std::monostate{}) : ReportValue(found->waves)});
  }
  keepLargest(maker, table, "total_ns");
  if (table.rows.empty()) {
    table.note = limits_missing
                     ? "the trace does not have the number of threads that a device holds"
                     : "the trace has no launch shapes";
  }
}

}  // namespace tracesmith::report_parts
