// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/kernel_stats.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "tracesmith/analysis/timing/device_ops.hpp"

namespace tracesmith {
namespace {

std::vector<NamedStats> finish(std::map<std::string, NamedDurations>& groups) {
  std::vector<NamedStats> out;
  for (auto& [name, group] : groups) out.push_back(group.finish(name));
  finishStats(out);
  return out;
}

/// Groups rows by a StringId column, without creating a text per row.
template <class Table, class Each>
std::map<std::string, NamedDurations> byName(const Trace& trace, const Table& table, Each&& each) {
  std::vector<NamedDurations> by_id(trace.strings.size() + 1);
  for (size_t i = 0; i < table.size(); ++i) {
    const auto id = static_cast<size_t>(table.name[i]);
    each(i, by_id[id < by_id.size() ? id : 0]);
  }
  std::map<std::string, NamedDurations> groups;
  for (size_t id = 0; id < by_id.size(); ++id) {
    if (by_id[id].durations.empty()) continue;
    groups[std::string(trace.text(static_cast<StringId>(id)))].add(std::move(by_id[id]));
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

DurationStats statsOf(const CompactDurations& durations) {
  DurationStats s;
  s.count = durations.size();
  if (s.count == 0) return s;
  // Nearest rank: position ceil(p / 100 * n), counted from 1.
  const auto nearestRank = [&](uint64_t percent) {
    return static_cast<size_t>(std::max<uint64_t>((s.count * percent + 99) / 100, 1) - 1);
  };
  const std::array<size_t, 5> positions = {0, nearestRank(50), nearestRank(95), nearestRank(99),
                                           durations.size() - 1};
  const std::vector<int64_t> values = durations.valuesAt(positions);
  s.total_ns = durations.total();
  s.mean_ns = static_cast<double>(s.total_ns) / static_cast<double>(s.count);
  s.min_ns = values[0];
  s.p50_ns = values[1];
  s.p95_ns = values[2];
  s.p99_ns = values[3];
  s.max_ns = values[4];
  return s;
}

void NamedDurations::add(NamedDurations&& others) {
  durations.add(std::move(others.durations));
  bytes += others.bytes;
  first_launches += others.first_launches;
}

NamedStats NamedDurations::finish(std::string name) {
  return {.name = std::move(name),
          .time = statsOf(std::exchange(durations, {})),
          .bytes = bytes,
          .first_launches = first_launches};
}

std::vector<NamedStats> kernelStats(const Trace& trace, const KeepRow& keep) {
  const KernelTable& k = trace.kernel;
  auto groups = byName(trace, k, [&](size_t i, NamedDurations& g) {
    if ((k.flags[i] & op_flags::kNoDeviceTime) || (keep && !keep(TableId::kKernel, i))) return;
    g.durations.add(k.duration_ns[i]);
    if (k.flags[i] & op_flags::kFirstLaunch) ++g.first_launches;
  });
  return finish(groups);
}

std::vector<NamedStats> copyStats(const Trace& trace, const KeepRow& keep) {
  std::map<std::string, NamedDurations> groups;
  auto add = [&](const auto& table, auto&& nameOf) {
    for (size_t i = 0; i < table.size(); ++i) {
      if ((table.flags[i] & op_flags::kNoDeviceTime) || (keep && !keep(table.kId, i))) continue;
      NamedDurations& g = groups[std::string(nameOf(i))];
      g.durations.add(table.duration_ns[i]);
      g.bytes += table.bytes[i];
    }
  };
  add(trace.copy, [&](size_t i) { return toString(trace.copy.kind[i]); });
  add(trace.fill, [](size_t) { return std::string_view("fill"); });
  return finish(groups);
}

std::vector<NamedStats> kernelStats(const Trace& trace, const DeviceOps& ops) {
  std::map<std::string, NamedDurations> groups;
  for (const DeviceOp& op : ops.ops) {
    if (op.work != WorkClass::kCompute && op.work != WorkClass::kCommunication) continue;
    NamedDurations& g = groups[std::string(trace.text(op.name))];
    g.durations.add(op.end_ns - op.begin_ns);
    const bool kernel = op.table == TableId::kKernel;
    if (kernel && (trace.kernel.flags[op.row] & op_flags::kFirstLaunch)) ++g.first_launches;
  }
  return finish(groups);
}

std::vector<NamedStats> copyStats(const Trace& trace, const DeviceOps& ops) {
  std::map<std::string, NamedDurations> groups;
  for (const DeviceOp& op : ops.ops) {
    const bool copy = op.table == TableId::kCopy;
    if (!copy && op.table != TableId::kFill) continue;
    NamedDurations& g = groups[copy ? std::string(toString(trace.copy.kind[op.row])) : "fill"];
    g.durations.add(op.end_ns - op.begin_ns);
    g.bytes += copy ? trace.copy.bytes[op.row] : trace.fill.bytes[op.row];
  }
  return finish(groups);
}

std::vector<NamedStats> hostCallStats(const Trace& trace, const KeepRow& keep) {
  const HostCallTable& h = trace.host_call;
  auto groups = byName(trace, h, [&](size_t i, NamedDurations& g) {
    if (!keep || keep(TableId::kHostCall, i)) g.durations.add(h.duration_ns[i]);
  });
  return finish(groups);
}

std::vector<NamedStats> rangeStats(const Trace& trace, const KeepRow& keep) {
  const RangeTable& r = trace.range;
  auto groups = byName(trace, r, [&](size_t i, NamedDurations& g) {
    if (r.kind[i] != RangeKind::kRange || (keep && !keep(TableId::kRange, i))) return;
    g.durations.add(r.duration_ns[i]);
  });
  return finish(groups);
}

}  // namespace tracesmith
