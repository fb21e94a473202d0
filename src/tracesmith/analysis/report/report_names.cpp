// SPDX-License-Identifier: Apache-2.0
// Reports by name: kernels, copies, hot spots; and memory.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>

#include "tracesmith/analysis/report/report_operators.hpp"
#include "tracesmith/analysis/report/report_parts.hpp"
#include "tracesmith/analysis/timing/kernel_stats.hpp"
#include "tracesmith/analysis/timing/peer_copies.hpp"
#include "tracesmith/base/largest_values.hpp"
#include "tracesmith/model/live_memory.hpp"

namespace tracesmith::report_parts {
namespace {

using Q = Quantity;

std::vector<ReportColumn> statsColumns(const char* what) {
  return {{"name", what, Q::kText},      {"count", "count", Q::kCount},
          {"total_ns", "total", Q::kNs}, {"share", "share", Q::kShare, 1},
          {"mean_ns", "mean", Q::kNs},   {"p50_ns", "p50", Q::kNs, 3},
          {"p95_ns", "p95", Q::kNs, 2},  {"p99_ns", "p99", Q::kNs, 5},
          {"min_ns", "min", Q::kNs, 4},  {"max_ns", "max", Q::kNs}};
}

std::vector<ReportValue> statsRow(const NamedStats& s) {
  return {s.name,        count(s.time.count), s.time.total_ns, s.share,       s.time.mean_ns,
          s.time.p50_ns, s.time.p95_ns,       s.time.p99_ns,   s.time.min_ns, s.time.max_ns};
}

void addFamilies(Maker& maker, const std::vector<NamedStats>& kernels) {
  ReportTable& table = maker.table("kernel_families", "Kernel time by family",
                                   {{"family", "family", Q::kText},
                                    {"names", "names", Q::kCount},
                                    {"count", "count", Q::kCount},
                                    {"total_ns", "total", Q::kNs},
                                    {"share", "share", Q::kShare}});
  struct Of {
    uint64_t names = 0;
    uint64_t count = 0;
    int64_t total_ns = 0;
  };
  std::array<Of, kKernelFamilies> by_family{};
  int64_t all = 0;
  for (const NamedStats& s : kernels) {
    Of& of = by_family[static_cast<size_t>(readKernelName(s.name).family)];
    ++of.names;
    of.count += s.time.count;
    of.total_ns += s.time.total_ns;
    all += s.time.total_ns;
  }
  std::vector<size_t> order;
  for (size_t i = 0; i < by_family.size(); ++i) {
    if (by_family[i].names > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return by_family[a].total_ns > by_family[b].total_ns;
  });
  for (const size_t i : order) {
    const Of& of = by_family[i];
    table.rows.push_back({std::string(toString(static_cast<KernelFamily>(i))), count(of.names),
                          count(of.count), of.total_ns, shareOf(of.total_ns, all)});
  }
  if (table.rows.empty()) table.note = "the trace has no kernels";
}

void addLaunchPaths(Maker& maker) {
  ReportTable& table = maker.table("launch_paths", "Device time by launching range",
                                   {{"path", "host ranges, innermost last", Q::kText},
                                    {"ops", "ops", Q::kCount},
                                    {"device_ns", "device time", Q::kNs},
                                    {"share", "share", Q::kShare}});
  const OperatorTree tree = OperatorTree::of(maker.trace, maker.ops, OperatorRanges::kStacks);
  std::vector<uint32_t> order;
  int64_t all = 0;
  for (uint32_t i = 0; i < tree.nodes.size(); ++i) {
    if (tree.nodes[i].launches > 0) order.push_back(i);
    all = endOf(all, tree.nodes[i].device_self_ns);
  }
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return tree.nodes[a].device_self_ns > tree.nodes[b].device_self_ns;
  });
  for (size_t i = 0; i < maker.limit(order.size()); ++i) {
    const OperatorNode& node = tree.nodes[order[i]];
    table.rows.push_back({pathText(tree, order[i], maker.options.whole_paths), count(node.launches),
                          node.device_self_ns, shareOf(node.device_self_ns, all)});
  }
  noteRest(table, order.size());
}

}  // namespace

void addKernels(Maker& maker) {
  ReportTable& table = maker.table("kernels", "Kernels by total time", statsColumns("kernel"));
  const std::vector<NamedStats> stats = maker.results->kernels();
  for (size_t i = 0; i < maker.limit(stats.size()); ++i) {
    table.rows.push_back(statsRow(stats[i]));
    table.rows.back()[0] = maker.workName(stats[i].name);
  }
  noteRest(table, stats.size());
  addFamilies(maker, stats);
}

void addHotspots(Maker& maker) {
  ReportTable& calls = maker.table("host_calls", "Host calls by total time", statsColumns("call"));
  const std::vector<NamedStats> stats = hostCallStats(maker.trace, [&](TableId, size_t row) {
    return !maker.ops.until_ns || maker.ops.calls.beginNs(row) < *maker.ops.until_ns;
  });
  for (size_t i = 0; i < maker.limit(stats.size()); ++i) calls.rows.push_back(statsRow(stats[i]));
  noteRest(calls, stats.size());
  addLaunchPaths(maker);
  addCallStacks(maker);
  std::vector<ReportColumn> columns = {{"name", "name", Q::kText},
                                       {"begin_ns", "start", Q::kTimeNs},
                                       {"duration_ns", "duration", Q::kNs}};
  for (ReportColumn& column : maker.placeColumns()) columns.push_back(std::move(column));
  ReportTable& longest =
      maker.table("longest_ops", "The longest single pieces of device work", std::move(columns));
  const auto isLonger = [](const DeviceOp* a, const DeviceOp* b) {
    return std::make_tuple(b->end_ns - b->begin_ns, a->begin_ns) <
           std::make_tuple(a->end_ns - a->begin_ns, b->begin_ns);
  };
  LargestValues<const DeviceOp*, decltype(isLonger)> order(
      maker.options.longest == 0 ? SIZE_MAX : maker.options.longest, isLonger);
  for (const DeviceOp& op : maker.ops.ops) order.add(&op);
  const int64_t begin = maker.beginNs();
  for (const DeviceOp* const op : order.take()) {
    std::vector<ReportValue> row = {maker.workName(op->name), op->begin_ns - begin,
                                    op->end_ns - op->begin_ns};
    const DeviceId device = maker.trace.deviceOf(op->stream);
    for (ReportValue& value : maker.place(device, op->process, op->stream)) {
      row.push_back(std::move(value));
    }
    longest.rows.push_back(std::move(row));
  }
  noteRest(longest, order.count());
}

void addMemory(Maker& maker) {
  const MemoryEventTable& events = maker.trace.memory_event;
  ReportTable& table = maker.table("memory", "Allocated memory",
                                   {{"device", "device", Q::kText},
                                    {"allocations", "allocations", Q::kCount},
                                    {"frees", "frees", Q::kCount, 3},
                                    {"allocated_bytes", "allocated", Q::kBytes},
                                    {"freed_bytes", "freed", Q::kBytes, 2},
                                    {"peak_bytes", "peak of this trace", Q::kBytes},
                                    {"peak_at_ns", "at", Q::kTimeNs, 1},
                                    {"kept_bytes", "never freed", Q::kBytes}});
  if (events.empty()) {
    table.note = "the trace has no allocations";
    return;
  }
  const MemoryUsage usage = memoryUsage(maker.trace);
  const auto add = [&](std::string place, const MemoryTotals& use) {
    table.rows.push_back({std::move(place), count(use.allocations), count(use.frees),
                          count(use.allocated_bytes), count(use.freed_bytes), count(use.peak_bytes),
                          use.peak_bytes == 0 ? 0 : use.peak_ns - maker.beginNs(),
                          count(use.live_bytes)});
  };
  for (const MemoryTotals& use : usage.places) {
    add(use.device == DeviceId::kNone ? "host" : maker.deviceName(use.device), use);
  }
  if (usage.places.size() > 1) add("all together", usage.all);
}

/// Adds nothing if there are no copies between devices.
void addPeerCopies(Maker& maker) {
  const std::vector<PeerCopies> all = maker.results->peers();
  if (all.empty()) return;
  ReportTable& table = maker.table("peer-copies", "Copies between devices",
                                   {{"source", "from", Q::kText},
                                    {"destination", "to", Q::kText},
                                    {"connection", "connection", Q::kText},
                                    {"count", "count", Q::kCount},
                                    {"total_ns", "total", Q::kNs},
                                    {"bytes", "bytes", Q::kBytes},
                                    {"bytes_per_s", "bytes/time", Q::kBytesPerSecond},
                                    {"of_nominal", "of nominal rate", Q::kShare}});
  for (const PeerCopies& copies : all) {
    ReportValue rate, share;
    if (copies.total_ns > 0 && copies.bytes > 0) {
      const double bytes_per_s =
          static_cast<double>(copies.bytes) * 1e9 / static_cast<double>(copies.total_ns);
      rate = bytes_per_s;
      if (copies.route.gbps > 0) share = bytes_per_s / (copies.route.gbps * 1e9);
    }
    table.rows.push_back({maker.deviceName(copies.source), maker.deviceName(copies.destination),
                          topology::pathText(copies.route), count(copies.count), copies.total_ns,
                          count(copies.bytes), rate, share});
  }
  keepLargest(maker, table, "total_ns");
}

void addCopies(Maker& maker) {
  std::vector<ReportColumn> columns = statsColumns("direction");
  columns.push_back({"bytes", "bytes", Q::kBytes});
  columns.push_back({"bytes_per_s", "bytes/time", Q::kBytesPerSecond});
  ReportTable& table = maker.table("memcpy", "Copies and fills", std::move(columns));
  for (const NamedStats& s : maker.results->copies()) {
    std::vector<ReportValue> row = statsRow(s);
    row.emplace_back(count(s.bytes));
    row.emplace_back(
        s.time.total_ns > 0 && s.bytes > 0
            ? ReportValue(static_cast<double>(s.bytes) * 1e9 / static_cast<double>(s.time.total_ns))
            : ReportValue(std::monostate{}));
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty()) table.note = "the trace has none";
  addPeerCopies(maker);
}

}  // namespace tracesmith::report_parts
