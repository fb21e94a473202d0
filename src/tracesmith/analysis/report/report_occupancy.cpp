// SPDX-License-Identifier: Apache-2.0
// Report on how much of a device launch shapes can occupy.
#include <algorithm>
#include <map>
#include <tuple>

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
  struct Of {
    int64_t launches = 0;
    int64_t total = 0;
  };
  const Trace& t = maker.trace;
  std::map<std::tuple<StringId, ShapeId, DeviceId>, Of> shapes;
  const auto add = [&](size_t i, int64_t duration_ns) {
    if (t.kernel.shape_id[i] == ShapeId::kNone) return;
    Of& of = shapes[{t.kernel.name[i], t.kernel.shape_id[i], t.deviceOf(t.kernel.stream_id[i])}];
    ++of.launches;
    of.total += std::max<int64_t>(duration_ns, 0);
  };
  if (maker.options.analysis.as_hta) {
    for (const DeviceOp& op : maker.ops.ops) {
      if (op.table == TableId::kKernel) add(op.row, op.end_ns - op.begin_ns);
    }
  } else {
    for (size_t i = 0; i < t.kernel.size(); ++i) add(i, t.kernel.duration_ns[i]);
  }
  bool limits_missing = false;
  for (const auto& [key, of] : shapes) {
    const auto& [name, shape, device] = key;
    const auto s = static_cast<size_t>(shape);
    const auto d = static_cast<size_t>(device);
    if (s > t.launch_shape.size() || d == 0 || d > t.device.size()) continue;
    const std::optional<KernelOccupancy> found = KernelOccupancy::of(t, shape, device);
    if (!found) {
      limits_missing = true;
      continue;
    }
    table.rows.push_back(
        {maker.workName(name), of.launches, of.total, count(found->threads),
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
