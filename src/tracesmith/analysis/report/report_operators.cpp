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
  int64_t in_steps_ns = 0;  ///< the part of cost.device_self_ns that is in a step
};

/// The device work of a trace, and its steps.
struct Work {
  explicit Work(const Maker& of)
      : maker(of), steps(stepsOf(of.trace, of.ops)), finder(steps, of.ops) {}
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  bool hasSteps() const { return steps.all.size() > 1; }
  void addIfInStep(const DeviceOp& op, int64_t& sum_ns) const {
    if (finder.stepOf(op) == steps.all.size()) return;
    sum_ns = endOf(sum_ns, lengthOf(op.begin_ns, op.end_ns));
  }
  /// Device time in steps, by a key below `keys` of each piece of work.
  template <class Key>
  std::vector<int64_t> timeInSteps(size_t keys, Key key_of_index) const {
    std::vector<int64_t> sums(keys);
    for (size_t i = 0; hasSteps() && i < maker.ops.ops.size(); ++i) {
      const DeviceOp& op = maker.ops.ops[i];
      if (isDeviceWork(op)) addIfInStep(op, sums[key_of_index(i)]);
    }
    return sums;
  }

  const Maker& maker;
  const Steps steps;
  const StepFinder finder;
};

bool isEmpty(const OperatorCost& cost) { return cost.calls == 0 && cost.launches == 0; }

bool hasRanges(OperatorsBy by) {
  return by == OperatorsBy::kOperator || by == OperatorsBy::kModule || by == OperatorsBy::kStack;
}

std::vector<NamedCost> byName(const Work& work, const OperatorTree& tree, const char* outside) {
  std::vector<NamedCost> rows;
  const std::vector<OperatorCost> costs = operatorCosts(tree);
  const std::vector<int64_t> in_steps = work.timeInSteps(
      costs.size(), [&](size_t op) { return tree.nodes[tree.node_of_op[op]].name; });
  for (size_t i = 0; i < costs.size(); ++i) {
    if (isEmpty(costs[i])) continue;
    rows.push_back({i == 0 ? outside : tree.names[i], costs[i], in_steps[i]});
  }
  return rows;
}

std::vector<NamedCost> byStack(const Work& work, const OperatorTree& tree) {
  std::vector<NamedCost> rows;
  const bool whole = work.maker.options.whole_paths;
  const std::vector<int64_t> in_steps =
      work.timeInSteps(tree.nodes.size(), [&](size_t op) { return tree.node_of_op[op]; });
  for (uint32_t i = 0; i < tree.nodes.size(); ++i) {
    OperatorCost cost = costOf(tree.nodes[i]);
    if (i == 0) cost.device_total_ns = cost.device_self_ns;
    if (!isEmpty(cost)) rows.push_back({pathText(tree, i, whole), cost, in_steps[i]});
  }
  return rows;
}

/// Where a piece of device work is counted.
struct Place {
  std::function<size_t(const DeviceOp&)> key;
  std::function<std::string(const DeviceOp&)> name;  ///< asked once per key
};

std::vector<NamedCost> byPlace(const Work& work, const Place& place) {
  const Maker& maker = work.maker;
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
    if (work.hasSteps()) work.addIfInStep(op, it->second.in_steps_ns);
  }
  std::vector<NamedCost> out;
  for (auto& [key, row] : rows) out.push_back(std::move(row));
  return out;
}

std::vector<NamedCost> byStream(const Work& work) {
  const Maker& maker = work.maker;
  const auto key = [](const DeviceOp& op) { return static_cast<size_t>(op.stream); };
  return byPlace(work, {key, [&](const DeviceOp& op) {
                          const size_t i = key(op);
                          std::string text = maker.deviceName(maker.trace.deviceOf(op.stream));
                          if (maker.name_processes) {
                            text += ", process " + maker.processName(op.process);
                          }
                          return text + ", stream " +
                                 maker.stream_names[i < maker.stream_names.size() ? i : 0];
                        }});
}

std::vector<NamedCost> byDevice(const Work& work) {
  const Maker& maker = work.maker;
  const auto device = [&](const DeviceOp& op) { return maker.trace.deviceOf(op.stream); };
  return byPlace(work, {[&](const DeviceOp& op) { return static_cast<size_t>(device(op)); },
                        [&](const DeviceOp& op) { return maker.deviceName(device(op)); }});
}

std::vector<NamedCost> byStep(const Work& work) {
  const std::vector<Step>& steps = work.steps.all;
  const auto key = [&](const DeviceOp& op) { return work.finder.stepOf(op); };
  return byPlace(work, {key, [&](const DeviceOp& op) {
                          const size_t step = key(op);
                          return step < steps.size()
                                     ? std::string(steps[step].nameIn(work.maker.trace))
                                     : "(outside of steps)";
                        }});
}

std::vector<NamedCost> byFamily(const Work& work) {
  std::unordered_map<StringId, KernelFamily> known;
  const auto key = [&](const DeviceOp& op) {
    if (op.table != TableId::kKernel) {
      return kKernelFamilies + (op.table == TableId::kCopy ? size_t{0} : size_t{1});
    }
    const auto [it, fresh] = known.try_emplace(op.name);
    if (fresh) it->second = readKernelName(work.maker.trace.text(op.name)).family;
    return static_cast<size_t>(it->second);
  };
  return byPlace(work, {key, [&](const DeviceOp& op) -> std::string {
                          if (op.table == TableId::kCopy) return "(copies by the driver)";
                          if (op.table == TableId::kFill) return "(fills by the driver)";
                          return std::string(toString(static_cast<KernelFamily>(key(op))));
                        }});
}

std::vector<NamedCost> costsBy(const Work& work, OperatorsBy by) {
  const Maker& maker = work.maker;
  const auto tree = [&](OperatorRanges which) {
    return OperatorTree::of(maker.trace, maker.ops, which);
  };
  switch (by) {
    case OperatorsBy::kOperator:
      return byName(work, tree(OperatorRanges::kOperators), kOutside);
    case OperatorsBy::kModule:
      return byName(work, tree(OperatorRanges::kModules), "(outside of modules)");
    case OperatorsBy::kStack:
      return byStack(work, tree(OperatorRanges::kStacks));
    case OperatorsBy::kFamily:
      return byFamily(work);
    case OperatorsBy::kStep:
      return byStep(work);
    case OperatorsBy::kStream:
      return byStream(work);
    case OperatorsBy::kDevice:
      break;
  }
  return byDevice(work);
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
  if (by != OperatorsBy::kStep) {
    columns.push_back(
        {"device_self_per_step_ns", ranges ? "self per step" : "per step", Q::kNs, 3});
  }
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

/// Per-step times are left empty for `steps` = 0.
std::vector<ReportValue> rowOf(NamedCost& of, OperatorsBy by, int64_t all_ns, size_t steps) {
  const OperatorCost& c = of.cost;
  std::vector<ReportValue> row = {std::move(of.name)};
  if (hasRanges(by)) row.push_back(count(c.calls));
  row.push_back(c.device_self_ns);
  row.push_back(report_parts::shareOf(c.device_self_ns, all_ns));
  if (by != OperatorsBy::kStep) {
    row.emplace_back();
    if (steps > 0) row.back() = of.in_steps_ns / static_cast<int64_t>(steps);
  }
  if (hasRanges(by)) row.push_back(c.device_total_ns);
  if (by == OperatorsBy::kOperator) row.push_back(c.backward_total_ns);
  if (hasRanges(by)) row.insert(row.end(), {c.host_self_ns, c.host_total_ns});
  row.insert(row.end(), {count(c.launches), count(c.bytes)});
  return row;
}

template <class Unwanted>
void leaveOut(ReportTable& table, Unwanted unwanted) {
  for (size_t i = table.columns.size(); i-- > 1;) {
    if (!unwanted(std::string_view(table.columns[i].key))) continue;
    table.columns.erase(table.columns.begin() + static_cast<ptrdiff_t>(i));
    for (auto& row : table.rows) row.erase(row.begin() + static_cast<ptrdiff_t>(i));
  }
}

/// Columns that say nothing in this trace. Machine formats have all of them.
void leaveOutEmptyColumns(ReportTable& table, bool has_device_work, bool has_steps) {
  if (!has_device_work) {
    leaveOut(table,
             [](std::string_view key) { return key != "calls" && !key.starts_with("host_"); });
    report_parts::note(table, "the trace has no device work");
  } else if (!has_steps) {
    leaveOut(table, [](std::string_view key) { return key == "device_self_per_step_ns"; });
  }
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
  const Maker maker(trace, options);
  const Work work(maker);
  std::vector<NamedCost> costs = costsBy(work, by);
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
    table.rows.push_back(rowOf(costs[i], by, all_ns, work.hasSteps() ? work.steps.all.size() : 0));
  }
  report_parts::noteRest(table, costs.size());
  if (!options.whole_paths && (has_device_work || hasRanges(by))) {
    leaveOutEmptyColumns(table, has_device_work, work.hasSteps());
  }
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
