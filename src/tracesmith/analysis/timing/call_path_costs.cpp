// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/call_path_costs.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>

#include "tracesmith/analysis/timing/launch_index.hpp"

namespace tracesmith {

std::vector<CallPathCost> callPathCosts(const Trace& trace) {
  std::vector<CallPathCost> costs(trace.call_path.size() + 1);
  const auto at = [&](CallPathId path) -> CallPathCost* {
    const auto i = static_cast<size_t>(path);
    return i == 0 || i >= costs.size() ? nullptr : &costs[i];
  };
  const HostCallTable& calls = trace.host_call;
  for (size_t i = 0; i < calls.size(); ++i) {
    CallPathCost* const cost = at(calls.call_path_id[i]);
    if (cost == nullptr) continue;
    ++cost->calls;
    cost->host_ns += calls.duration_ns[i];
  }
  const LaunchIndex index(trace);
  const auto addDevice = [&](const auto& table) {
    const std::vector<uint32_t> launches = index.launchesOf(table);
    for (size_t i = 0; i < table.size(); ++i) {
      CallPathId path = table.call_path_id[i];
      if (path == CallPathId::kNone && launches[i] != LaunchIndex::kNone) {
        path = calls.call_path_id[launches[i]];
      }
      if (CallPathCost* const cost = at(path)) cost->device_ns += table.duration_ns[i];
    }
  };
  addDevice(trace.kernel);
  addDevice(trace.copy);
  addDevice(trace.fill);
  for (size_t i = 0; i < trace.memory_event.size(); ++i) {
    if (trace.memory_event.kind[i] != MemoryKind::kAlloc) continue;
    CallPathCost* const cost = at(trace.memory_event.call_path_id[i]);
    if (cost != nullptr) cost->bytes += trace.memory_event.bytes[i];
  }
  std::vector<CallPathCost> used;
  for (size_t i = 1; i < costs.size(); ++i) {
    costs[i].path = static_cast<CallPathId>(i);
    if (costs[i].calls != 0 || costs[i].device_ns != 0 || costs[i].bytes != 0) {
      used.push_back(costs[i]);
    }
  }
  return used;
}

std::vector<FrameId> framesOf(const CallPathTable& paths, CallPathId path) {
  constexpr size_t kDeepest = 4096;
  std::vector<FrameId> frames;
  for (auto i = static_cast<size_t>(path); i != 0 && i <= paths.size() && frames.size() < kDeepest;
       i = static_cast<size_t>(paths.parent[i - 1])) {
    frames.push_back(paths.frame[i - 1]);
  }
  std::reverse(frames.begin(), frames.end());
  return frames;
}

std::vector<FunctionCost> functionCosts(const CallPathTable& paths,
                                        const std::vector<CallPathCost>& of_paths,
                                        const FrameSymbols& symbols) {
  std::vector<FunctionCost> costs;
  std::unordered_map<std::string, uint32_t> numbers;
  std::unordered_map<FrameId, std::vector<uint32_t>> of_frame;  // functions of each frame
  std::vector<FrameFunction> functions;
  const auto functionsOf = [&](FrameId frame) -> const std::vector<uint32_t>& {
    const auto [it, is_new] = of_frame.try_emplace(frame);
    if (!is_new) return it->second;
    symbols.functions(frame, functions);
    for (const FrameFunction& function : functions) {
      const std::string name = symbols.label(frame, function);
      const auto [number, fresh] = numbers.try_emplace(name, static_cast<uint32_t>(costs.size()));
      if (fresh) costs.push_back({.name = name});
      it->second.push_back(number->second);
    }
    return it->second;
  };
  std::set<uint32_t> on_stack;
  for (const CallPathCost& path : of_paths) {
    on_stack.clear();
    for (const FrameId frame : framesOf(paths, path.path)) {
      const std::vector<uint32_t>& there = functionsOf(frame);
      on_stack.insert(there.begin(), there.end());
    }
    for (const uint32_t number : on_stack) {
      FunctionCost& cost = costs[number];
      cost.calls += path.calls;
      cost.host_ns += path.host_ns;
      cost.device_ns += path.device_ns;
      cost.bytes += path.bytes;
    }
  }
  return costs;
}

}  // namespace tracesmith
