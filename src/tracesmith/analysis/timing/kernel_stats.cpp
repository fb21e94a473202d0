// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/kernel_stats.hpp"

#include <algorithm>
#include <map>

#include "tracesmith/analysis/timing/device_ops.hpp"

namespace tracesmith {
namespace {

/// Nearest rank of a sorted list: position ceil(p / 100 * n), counted from 1.
int64_t nearestRank(std::span<const int64_t> sorted, uint64_t percent) {
  const uint64_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<uint64_t>(rank, 1) - 1];
}

/// Accumulates durations and other sums of one name.
struct Group {
  std::vector<int64_t> durations;
  uint64_t bytes = 0;
  uint64_t first_launches = 0;
};

std::vector<NamedStats> finish(std::map<std::string, Group>& groups) {
  std::vector<NamedStats> out;
  for (auto& [name, group] : groups) {
    out.push_back({.name = name,
                   .time = statsOf(group.durations),
                   .bytes = group.bytes,
                   .first_launches = group.first_launches});
  }
  finishStats(out);
  return out;
}

/// Groups rows by a StringId column, without creating a text per row.
template <class Table, class Each>
std::map<std::string, Group> byName(const Trace& trace, const Table& table, Each&& each) {
  std::vector<Group> by_id(trace.strings.size() + 1);
  for (size_t i = 0; i < table.size(); ++i) {
    const auto id = static_cast<size_t>(table.name[i]);
    each(i, by_id[id < by_id.size() ? id : 0]);
  }
  std::map<std::string, Group> groups;
  for (size_t id = 0; id < by_id.size(); ++id) {
    if (by_id[id].durations.empty()) continue;
    Group& g = groups[std::string(trace.text(static_cast<StringId>(id)))];
    g.durations.insert(g.durations.end(), by_id[id].durations.begin(), by_id[id].durations.end());
    g.first_launches += by_id[id].first_launches;
  }
  return groups;
}

}  // namespace

void finishStats(std::vector<NamedStats>& by_name) {
  double total = 0;
  for (const NamedStats& s : by_name) total += static_cast<double>(s.time.total_ns);
  for (NamedStats& s : by_name) {
    s.share = total > 0 ? static_cast<double>(s.time.total_ns) / total : 0;
  }
  std::stable_sort(by_name.begin(), by_name.end(), [](const NamedStats& a, const NamedStats& b) {
    return a.time.total_ns > b.time.total_ns;
  });
}

DurationStats statsOf(std::span<int64_t> durations) {
  DurationStats s;
  s.count = durations.size();
  if (durations.empty()) return s;
  std::sort(durations.begin(), durations.end());
  for (int64_t d : durations) s.total_ns = endOf(s.total_ns, d);
  s.mean_ns = static_cast<double>(s.total_ns) / static_cast<double>(s.count);
  s.p50_ns = nearestRank(durations, 50);
  s.p95_ns = nearestRank(durations, 95);
  s.p99_ns = nearestRank(durations, 99);
  s.min_ns = durations.front();
  s.max_ns = durations.back();
  return s;
}

std::vector<NamedStats> kernelStats(const Trace& trace, const KeepRow& keep) {
  const KernelTable& k = trace.kernel;
  auto groups = byName(trace, k, [&](size_t i, Group& g) {
    if ((k.flags[i] & op_flags::kNoDeviceTime) || (keep && !keep(TableId::kKernel, i))) return;
    g.durations.push_back(k.duration_ns[i]);
    if (k.flags[i] & op_flags::kFirstLaunch) ++g.first_launches;
  });
  return finish(groups);
}

std::vector<NamedStats> copyStats(const Trace& trace, const KeepRow& keep) {
  std::map<std::string, Group> groups;
  auto add = [&](const auto& table, auto&& nameOf) {
    for (size_t i = 0; i < table.size(); ++i) {
      if ((table.flags[i] & op_flags::kNoDeviceTime) || (keep && !keep(table.kId, i))) continue;
      Group& g = groups[std::string(nameOf(i))];
      g.durations.push_back(table.duration_ns[i]);
      g.bytes += table.bytes[i];
    }
  };
  add(trace.copy, [&](size_t i) { return toString(trace.copy.kind[i]); });
  add(trace.fill, [](size_t) { return std::string_view("fill"); });
  return finish(groups);
}

std::vector<NamedStats> kernelStats(const Trace& trace, const DeviceOps& ops) {
  std::map<std::string, Group> groups;
  for (const DeviceOp& op : ops.ops) {
    if (op.work != WorkClass::kCompute && op.work != WorkClass::kCommunication) continue;
    Group& g = groups[std::string(trace.text(op.name))];
    g.durations.push_back(op.end_ns - op.begin_ns);
    const bool kernel = op.table == TableId::kKernel;
    if (kernel && (trace.kernel.flags[op.row] & op_flags::kFirstLaunch)) ++g.first_launches;
  }
  return finish(groups);
}

std::vector<NamedStats> copyStats(const Trace& trace, const DeviceOps& ops) {
  std::map<std::string, Group> groups;
  for (const DeviceOp& op : ops.ops) {
    const bool copy = op.table == TableId::kCopy;
    if (!copy && op.table != TableId::kFill) continue;
    Group& g = groups[copy ? std::string(toString(trace.copy.kind[op.row])) : "fill"];
    g.durations.push_back(op.end_ns - op.begin_ns);
    g.bytes += copy ? trace.copy.bytes[op.row] : trace.fill.bytes[op.row];
  }
  return finish(groups);
}

std::vector<NamedStats> hostCallStats(const Trace& trace, const KeepRow& keep) {
  const HostCallTable& h = trace.host_call;
  auto groups = byName(trace, h, [&](size_t i, Group& g) {
    if (!keep || keep(TableId::kHostCall, i)) g.durations.push_back(h.duration_ns[i]);
  });
  return finish(groups);
}

std::vector<NamedStats> rangeStats(const Trace& trace, const KeepRow& keep) {
  const RangeTable& r = trace.range;
  auto groups = byName(trace, r, [&](size_t i, Group& g) {
    if (r.kind[i] != RangeKind::kRange || (keep && !keep(TableId::kRange, i))) return;
    g.durations.push_back(r.duration_ns[i]);
  });
  return finish(groups);
}

}  // namespace tracesmith
