// SPDX-License-Identifier: Apache-2.0
// Reports on kernels of collective libraries.
#include <map>

#include "tracesmith/analysis/communication/kernel_arrivals.hpp"
#include "tracesmith/analysis/report/report_communication.hpp"
#include "tracesmith/analysis/timing/covered_time.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/model/ranks/ranks.hpp"

namespace tracesmith::report_parts {
using Q = Quantity;

void addCollectiveKernels(Maker& maker) {
  ReportTable& table = maker.table("comm", "Communication by kernel",
                                   {{"name", "kernel", Q::kText},
                                    {"count", "count", Q::kCount},
                                    {"total_ns", "total", Q::kNs},
                                    {"mean_ns", "mean", Q::kNs},
                                    {"min_ns", "min", Q::kNs},
                                    {"max_ns", "max", Q::kNs},
                                    {"alone_ns", "without compute", Q::kNs}});
  struct Of {
    std::vector<double> durations;
    int64_t alone = 0;
  };
  std::map<StringId, Of> by_name;
  std::map<DeviceId, CoveredTime> computed;  // only if there is communication
  for (const DeviceOp& op : maker.ops.ops) {
    if (op.work != WorkClass::kCommunication) continue;
    if (by_name.empty()) computed = computeTimes(maker.ops);
    Of& of = by_name[op.name];
    of.durations.push_back(static_cast<double>(op.end_ns - op.begin_ns));
    of.alone += op.end_ns - op.begin_ns -
                computed[maker.trace.deviceOf(op.stream)].within(op.begin_ns, op.end_ns);
  }
  for (auto& [name, of] : by_name) {
    const Distribution d = distributionOf(of.durations);
    table.rows.push_back({maker.workName(name), count(d.count), static_cast<int64_t>(d.sum), d.mean,
                          static_cast<int64_t>(d.min), static_cast<int64_t>(d.max), of.alone});
  }
  keepLargest(maker, table, "total_ns");
  if (table.rows.empty()) table.note = "no kernel of a collective library is in the trace";
}

void addKernelArrivals(Maker& maker) {
  const AllKernelArrivals all = kernelArrivals(maker.trace, maker.ops);
  if (all.kernels.empty() && all.unknown_groups == 0) return;
  ReportTable& table =
      maker.table("comm_kernel_arrivals", "Devices that others waited for, by collective kernels",
                  {{"name", "kernel", Q::kText},
                   {"device", "device", Q::kText},
                   {"collectives", "collectives", Q::kCount},
                   {"times_last", "last", Q::kCount},
                   {"last_share", "last/collectives", Q::kShare, 2},
                   {"late_ns", "later by", Q::kNs, 1},
                   {"caused_ns", "others waited", Q::kNs},
                   {"waited_ns", "it waited", Q::kNs},
                   {"spread_p50_ns", "median spread", Q::kNs, 3}});
  uint64_t unmatched = 0;
  for (const KernelArrivals& kernel : all.kernels) {
    unmatched += kernel.unmatched;
    for (const DeviceArrivals& device : kernel.devices) {
      table.rows.push_back({maker.workName(kernel.kernel), maker.deviceName(device.device),
                            count(kernel.collectives), count(device.times_last),
                            shareOf(static_cast<int64_t>(device.times_last),
                                    static_cast<int64_t>(kernel.collectives)),
                            device.late_ns, device.caused_ns, device.waited_ns,
                            wholeNs(kernel.spread_ns.p50)});
    }
  }
  keepLargest(maker, table, "caused_ns");
  if (!all.are_comparable) {
    note(table, kRanksHaveOwnClocks);
    return;
  }
  note(table,
       "the trace has no calls of collectives: kernels of one name on different devices are one "
       "collective if each starts before any of them ends");
  if (unmatched > 0) note(table, formatCount(unmatched) + " kernels have no partners");
  if (all.unknown_groups > 0) {
    note(table, formatCount(all.unknown_groups) +
                    " names are left out, because their kernels do not match: which devices "
                    "belong together is unknown");
  }
}

}  // namespace tracesmith::report_parts
