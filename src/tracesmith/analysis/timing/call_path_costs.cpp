// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/call_path_costs.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>

#include "tracesmith/analysis/timing/launch_index.hpp"

namespace tracesmith {

void CallPathCosts::addCalls(const HostCallTable& calls) {
  for (size_t i = 0; i < calls.size(); ++i) {
    CallPathCost* const cost = at(calls.call_path_id[i]);
    if (cost == nullptr) continue;
    ++cost->calls;
    cost->host_ns += calls.duration_ns[i];
  }
}

template <class Table>
void CallPathCosts::addWork(const Table& work, std::span<const uint32_t> launches,
                            const HostCallTable& calls) {
  for (size_t i = 0; i < work.size(); ++i) {
    CallPathId path = work.call_path_id[i];
    if (path == CallPathId::kNone && launches[i] != LaunchIndex::kNone) {
      path = calls.call_path_id[launches[i]];
    }
    if (CallPathCost* const cost = at(path)) cost->device_ns += work.duration_ns[i];
  }
}
template void CallPathCosts::addWork(const KernelTable&, std::span<const uint32_t>,
                                     const HostCallTable&);
template void CallPathCosts::addWork(const CopyTable&, std::span<const uint32_t>,
                                     const HostCallTable&);
template void CallPathCosts::addWork(const FillTable&, std::span<const uint32_t>,
                                     const HostCallTable&);

void CallPathCosts::addAllocations(const MemoryEventTable& events) {
  for (size_t i = 0; i < events.size(); ++i) {
    if (events.kind[i] != MemoryKind::kAlloc) continue;
    if (CallPathCost* const cost = at(events.call_path_id[i])) cost->bytes += events.bytes[i];
  }
}

void CallPathCosts::add(const CallPathCosts& others) {
  for (size_t i = 0; i < costs_.size() && i < others.costs_.size(); ++i) {
    const CallPathCost& other = others.costs_[i];
    costs_[i].calls += other.calls;
    costs_[i].host_ns += other.host_ns;
    costs_[i].device_ns += other.device_ns;
    costs_[i].bytes += other.bytes;
  }
}

std::vector<CallPathCost> CallPathCosts::all() const {
  std::vector<CallPathCost> used;
  for (size_t i = 1; i < costs_.size(); ++i) {
    const CallPathCost& cost = costs_[i];
    if (cost.calls == 0 && cost.device_ns == 0 && cost.bytes == 0) continue;
    used.push_back(cost);
    used.back().path = static_cast<CallPathId>(i);
  }
  return used;
}

std::vector<CallPathCost> callPathCosts(const Trace& trace) {
  if (trace.call_path.empty()) return {};
  CallPathCosts costs(trace.call_path.size());
  costs.addCalls(trace.host_call);
  const LaunchIndex index(trace);
  const auto addWork = [&](const auto& table) {
    costs.addWork(table, index.launchesOf(table), trace.host_call);
  };
  addWork(trace.kernel);
  addWork(trace.copy);
  addWork(trace.fill);
  costs.addAllocations(trace.memory_event);
  return costs.all();
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
