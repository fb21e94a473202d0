// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/report/report_operators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <tuple>
#include <unordered_map>

#include "tracesmith/analysis/kernel_names/kernel_name.hpp"
#include "tracesmith/analysis/operators/operator_costs.hpp"
#include "tracesmith/analysis/report/report_parts.hpp"
#include "tracesmith/analysis/timing/step_finder.hpp"

namespace tracesmith {
namespace {

using Q = Quantity;
using report_parts::Maker;

constexpr std::array<std::string_view, kOperatorsBy> kNames = {
    "operator", "module", "family", "stack", "step", "stream", "device"};
constexpr std::array<std::string_view, kOperatorsSorts> kSortNames = {
    "device-self", "device-total", "host-self", "host-total", "calls"};
constexpr const char* kOutside = "(outside of ranges)";

struct NamedCost {
  std::string name;
  OperatorCost cost;
};

bool isEmpty(const OperatorCost& cost) { return cost.calls == 0 && cost.launches == 0; }

bool hasRanges(OperatorsBy by) {
  return by == OperatorsBy::kOperator || by == OperatorsBy::kModule || by == OperatorsBy::kStack;
}

std::vector<NamedCost> byName(const OperatorTree& tree, const char* outside) {
  std::vector<NamedCost> rows;
  const std::vector<OperatorCost> costs = operatorCosts(tree);
  for (size_t i = 0; i < costs.size(); ++i) {
    if (!isEmpty(costs[i])) rows.push_back({i == 0 ? outside : tree.names[i], costs[i]});
  }
  return rows;
}

std::vector<NamedCost> byStack(const OperatorTree& tree, bool whole) {
  std::vector<NamedCost> rows;
  for (uint32_t i = 0; i < tree.nodes.size(); ++i) {
    OperatorCost cost = costOf(tree.nodes[i]);
    if (i == 0) cost.device_total_ns = cost.device_self_ns;
    if (!isEmpty(cost)) rows.push_back({pathText(tree, i, whole), cost});
  }
  return rows;
}

/// Where a piece of device work is counted.
struct Place {
  std::function<size_t(const DeviceOp&)> key;
  std::function<std::string(const DeviceOp&)> name;  ///< asked once per key
};

std::vector<NamedCost> byPlace(const Maker& maker, const Place& place) {
  std::map<size_t, NamedCost> rows;
  for (const DeviceOp& op : maker.ops.ops) {
    if (!isDeviceWork(op)) continue;
    const auto [it, fresh] = rows.try_emplace(place.key(op));
    if (fresh) it->second.name = place.name(op);
    OperatorCost& cost = it->second.cost;
    ++cost.launches;
    cost.device_self_ns = endOf(cost.device_self_ns, lengthOf(op.begin_ns, op.end_ns));
    cost.device_total_ns = cost.device_self_ns;
    cost.bytes += bytesOf(maker.trace, op);
  }
  std::vector<NamedCost> out;
  for (auto& [key, row] : rows) out.push_back(std::move(row));
  return out;
}

std::vector<NamedCost> byStream(const Maker& maker) {
  const auto key = [](const DeviceOp& op) { return static_cast<size_t>(op.stream); };
  return byPlace(maker, {key, [&](const DeviceOp& op) {
                           const size_t i = key(op);
                           std::string text = maker.deviceName(op.device);
                           if (maker.name_processes) {
                             text += ", process " + maker.processName(op.process);
                           }
                           return text + ", stream " +
                                  maker.stream_names[i < maker.stream_names.size() ? i : 0];
                         }});
}

std::vector<NamedCost> byDevice(const Maker& maker) {
  return byPlace(maker, {[](const DeviceOp& op) { return static_cast<size_t>(op.device); },
                         [&](const DeviceOp& op) { return maker.deviceName(op.device); }});
}

std::vector<NamedCost> byStep(const Maker& maker) {
  const Steps steps = stepsOf(maker.trace, maker.ops);
  const StepFinder finder(steps, maker.ops);
  const auto key = [&](const DeviceOp& op) { return finder.stepOf(op); };
  return byPlace(maker, {key, [&](const DeviceOp& op) {
                           const size_t step = key(op);
                           return step < steps.all.size()
                                      ? std::string(steps.all[step].nameIn(maker.trace))
                                      : "(outside of steps)";
                         }});
}

std::vector<NamedCost> byFamily(const Maker& maker) {
  std::unordered_map<StringId, KernelFamily> known;
  const auto key = [&](const DeviceOp& op) {
    if (op.table != TableId::kKernel) {
      return kKernelFamilies + (op.table == TableId::kCopy ? size_t{0} : size_t{1});
    }
    const auto [it, fresh] = known.try_emplace(op.name);
    if (fresh) it->second = readKernelName(maker.trace.text(op.name)).family;
    return static_cast<size_t>(it->second);
  };
  return byPlace(maker, {key, [&](const DeviceOp& op) -> std::string {
                           if (op.table == TableId::kCopy) return "(copies by the driver)";
                           if (op.table == TableId::kFill) return "(fills by the driver)";
                           return std::string(toString(static_cast<KernelFamily>(key(op))));
                         }});
}

std::vector<NamedCost> costsBy(const Maker& maker, OperatorsBy by) {
  const auto tree = [&](OperatorRanges which) {
    return OperatorTree::of(maker.trace, maker.ops, which);
  };
  switch (by) {
    case OperatorsBy::kOperator:
      return byName(tree(OperatorRanges::kOperators), kOutside);
    case OperatorsBy::kModule:
      return byName(tree(OperatorRanges::kModules), "(outside of modules)");
    case OperatorsBy::kStack:
      return byStack(tree(OperatorRanges::kStacks), maker.options.whole_paths);
    case OperatorsBy::kFamily:
      return byFamily(maker);
    case OperatorsBy::kStep:
      return byStep(maker);
    case OperatorsBy::kStream:
      return byStream(maker);
    case OperatorsBy::kDevice:
      break;
  }
  return byDevice(maker);
}

int64_t valueOf(const OperatorCost& cost, OperatorsSort sort) {
  switch (sort) {
    case OperatorsSort::kDeviceTotal:
      return cost.device_total_ns;
    case OperatorsSort::kHostSelf:
      return cost.host_self_ns;
    case OperatorsSort::kHostTotal:
      return cost.host_total_ns;
    case OperatorsSort::kCalls:
      return static_cast<int64_t>(cost.calls);
    case OperatorsSort::kDeviceSelf:
      break;
  }
  return cost.device_self_ns;
}

std::vector<ReportColumn> columnsOf(OperatorsBy by) {
  const std::string name(toString(by));
  const bool ranges = hasRanges(by);
  std::vector<ReportColumn> columns = {{name, name, Q::kText}};
  if (ranges) columns.push_back({"calls", "calls", Q::kCount});
  columns.push_back({"device_self_ns", ranges ? "device self" : "device time", Q::kNs});
  columns.push_back({"share", "share", Q::kShare, 1});
  if (ranges) columns.push_back({"device_total_ns", "device total", Q::kNs});
  if (by == OperatorsBy::kOperator) {
    columns.push_back({"backward_ns", "of backward", Q::kNs, 2});
  }
  if (ranges) {
    columns.push_back({"host_self_ns", "host self", Q::kNs});
    columns.push_back({"host_total_ns", "host total", Q::kNs, 3});
  }
  columns.push_back({"launches", "launches", Q::kCount, 4});
  columns.push_back({"bytes", "copied or filled", Q::kBytes, 5});
  return columns;
}

std::vector<ReportValue> rowOf(NamedCost& of, OperatorsBy by, int64_t all_ns) {
  const OperatorCost& c = of.cost;
  std::vector<ReportValue> row = {std::move(of.name)};
  if (hasRanges(by)) row.push_back(count(c.calls));
  row.push_back(c.device_self_ns);
  row.push_back(report_parts::shareOf(c.device_self_ns, all_ns));
  if (hasRanges(by)) row.push_back(c.device_total_ns);
  if (by == OperatorsBy::kOperator) row.push_back(c.backward_total_ns);
  if (hasRanges(by)) row.insert(row.end(), {c.host_self_ns, c.host_total_ns});
  row.insert(row.end(), {count(c.launches), count(c.bytes)});
  return row;
}

/// Leaves name, calls and host times.
void leaveOutDeviceTimes(ReportTable& table) {
  for (size_t i = table.columns.size(); i-- > 1;) {
    const std::string& key = table.columns[i].key;
    if (key == "calls" || key.starts_with("host_")) continue;
    table.columns.erase(table.columns.begin() + static_cast<ptrdiff_t>(i));
    for (auto& row : table.rows) row.erase(row.begin() + static_cast<ptrdiff_t>(i));
  }
  report_parts::note(table, "the trace has no device work");
}

template <class Enum, size_t N>
Result<Enum> byNameIn(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<Enum>(found - names.begin());
  return fail(ErrorCode::kInvalidArgument, fmt::format("is none of {}", fmt::join(names, ", ")),
              std::string(name));
}

}  // namespace

Result<OperatorsBy> operatorsByOf(std::string_view name) {
  return byNameIn<OperatorsBy>(kNames, name);
}
Result<OperatorsSort> operatorsSortOf(std::string_view name) {
  return byNameIn<OperatorsSort>(kSortNames, name);
}

std::string_view toString(OperatorsBy by) { return kNames[static_cast<size_t>(by)]; }
std::string_view toString(OperatorsSort sort) { return kSortNames[static_cast<size_t>(sort)]; }

std::string pathText(const OperatorTree& tree, uint32_t node, bool whole) {
  constexpr size_t kShown = 4;
  const std::vector<std::string_view> names = tree.path(node);
  if (names.empty()) return kOutside;
  const size_t from = !whole && names.size() > kShown ? names.size() - kShown : 0;
  std::string text = from > 0 ? "... > " : "";
  for (size_t i = from; i < names.size(); ++i) {
    if (i > from) text += " > ";
    text += names[i];
  }
  return text;
}

ReportTable operatorTable(const Trace& trace, OperatorsBy by, std::optional<OperatorsSort> sort,
                          const ReportOptions& options) {
  Maker maker{.trace = trace,
              .options = options,
              .ops = DeviceOps::of(trace, options.analysis),
              .begin_ns = timeRange(trace).begin_ns};
  maker.nameStreams();
  std::vector<NamedCost> costs = costsBy(maker, by);
  const bool has_device_work =
      std::any_of(maker.ops.ops.begin(), maker.ops.ops.end(), isDeviceWork);
  const OperatorsSort order =
      sort.value_or(has_device_work ? OperatorsSort::kDeviceSelf : OperatorsSort::kHostSelf);
  if (by != OperatorsBy::kStep) {
    std::stable_sort(costs.begin(), costs.end(), [&](const NamedCost& a, const NamedCost& b) {
      return std::make_tuple(valueOf(a.cost, order), a.cost.host_self_ns) >
             std::make_tuple(valueOf(b.cost, order), b.cost.host_self_ns);
    });
  }
  int64_t all_ns = 0;
  for (const NamedCost& of : costs) all_ns = endOf(all_ns, of.cost.device_self_ns);
  const std::string name(toString(by));
  ReportTable table{"operators_by_" + name, "Time by " + name, columnsOf(by), {}, {}};
  for (size_t i = 0; i < maker.limit(costs.size()); ++i) {
    table.rows.push_back(rowOf(costs[i], by, all_ns));
  }
  report_parts::noteRest(table, costs.size());
  if (!has_device_work && hasRanges(by) && !options.whole_paths) leaveOutDeviceTimes(table);
  const bool any_range = std::any_of(costs.begin(), costs.end(),
                                     [](const NamedCost& of) { return of.cost.calls > 0; });
  if (trace.range.empty() && !has_device_work) {
    table.note = "nothing recorded: the trace has no host ranges and no device work";
  } else if (hasRanges(by) && !any_range) {
    report_parts::note(table, by == OperatorsBy::kModule
                                  ? "the trace names no modules; PyTorch's profiler records them "
                                    "with with_modules=True or with_stack=True"
                                  : "the trace has no host ranges");
  } else if (!hasRanges(by) && !has_device_work) {
    table.note = "the trace has no device work";
  }
  return table;
}

}  // namespace tracesmith
