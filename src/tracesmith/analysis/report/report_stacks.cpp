// SPDX-License-Identifier: Apache-2.0
// Reports on the program's call stacks.
#include <algorithm>
#include <tuple>

#include "tracesmith/analysis/report/report_parts.hpp"
#include "tracesmith/analysis/timing/call_path_costs.hpp"
#include "tracesmith/analysis/timing/runtime_frames.hpp"

namespace tracesmith::report_parts {
namespace {

using Q = Quantity;

std::vector<ReportColumn> costColumns(const char* key, const char* header) {
  return {{key, header, Q::kText},
          {"calls", "calls", Q::kCount},
          {"device_ns", "device time", Q::kNs},
          {"host_ns", "host time", Q::kNs},
          {"allocated_bytes", "allocated", Q::kBytes, 1}};
}

template <class Cost>
std::vector<ReportValue> costRow(std::string name, const Cost& cost) {
  return {std::move(name), count(cost.calls), cost.device_ns, cost.host_ns, count(cost.bytes)};
}

/// Sort key: device time if there is any, otherwise host time.
template <class Cost>
bool costsMore(const Cost& a, const Cost& b) {
  return std::tie(a.device_ns, a.host_ns, a.bytes) > std::tie(b.device_ns, b.host_ns, b.bytes);
}

/// Merges the costs of paths that are shown as one stack.
std::vector<CallPathCost> joinedCosts(const CallPathTable& paths,
                                      const std::vector<CallPathCost>& costs) {
  const std::vector<CallPathId> first = samePaths(paths);
  std::vector<CallPathCost> sums(paths.size());
  for (const CallPathCost& cost : costs) {
    const CallPathId path = first[indexOf(cost.path)];
    CallPathCost& sum = sums[indexOf(path)];
    sum.path = path;
    sum.calls += cost.calls;
    sum.host_ns += cost.host_ns;
    sum.device_ns += cost.device_ns;
    sum.bytes += cost.bytes;
  }
  std::erase_if(sums, [](const CallPathCost& sum) { return sum.path == CallPathId::kNone; });
  return sums;
}

}  // namespace

std::string callStackText(const Maker& maker, const CallPathTable& paths,
                          const FrameSymbols& symbols, CallPathId path) {
  constexpr size_t kShown = 4;
  std::string text;
  size_t shown = 0;
  std::vector<FrameFunction> functions;
  const std::vector<FrameId> frames = framesOf(paths, path);
  for (size_t i = frames.size(); i-- > 0;) {
    symbols.functions(frames[i], functions);
    for (const FrameFunction& function : functions) {
      if (!maker.options.whole_paths && shown == kShown) return text + " < ...";
      text += (shown++ == 0 ? "" : " < ") + symbols.label(frames[i], function);
      if (function.line != 0) text += ":" + std::to_string(function.line);
    }
  }
  return text;
}

void addCallStacks(Maker& maker) {
  std::vector<CallPathCost> paths =
      maker.call_path_costs == nullptr ? callPathCosts(maker.trace) : *maker.call_path_costs;
  if (paths.empty()) return;
  const FrameSymbols symbols(maker.trace);
  CallPathTable shown = maker.trace.call_path;
  bool left_out = false;
  if (!maker.options.all_frames) {
    shown = withoutRuntimeFrames(maker.trace);
    paths = joinedCosts(shown, paths);
    const auto& all = maker.trace.call_path.frame;
    left_out = !std::equal(all.begin(), all.end(), shown.frame.begin(), shown.frame.end());
  }
  std::vector<FunctionCost> functions = functionCosts(shown, paths, symbols);
  std::sort(paths.begin(), paths.end(), costsMore<CallPathCost>);
  ReportTable& by_path = maker.table("call_paths", "Call stacks by device time",
                                     costColumns("stack", "stack, innermost first"));
  if (left_out) {
    note(by_path, "without frames of the interpreter, libffi and the loader (--all-frames)");
  }
  for (size_t i = 0; i < maker.limit(paths.size()); ++i) {
    by_path.rows.push_back(costRow(callStackText(maker, shown, symbols, paths[i].path), paths[i]));
  }
  noteRest(by_path, paths.size());
  std::stable_sort(functions.begin(), functions.end(), costsMore<FunctionCost>);
  ReportTable& by_function =
      maker.table("functions", "Functions by device time, including their callees",
                  costColumns("function", "function"));
  for (size_t i = 0; i < maker.limit(functions.size()); ++i) {
    by_function.rows.push_back(costRow(functions[i].name, functions[i]));
  }
  noteRest(by_function, functions.size());
}

}  // namespace tracesmith::report_parts
