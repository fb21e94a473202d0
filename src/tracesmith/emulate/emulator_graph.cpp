// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/emulate/emulator_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/emulate/emulator_graph_parts.hpp"

namespace tracesmith {
namespace {

/// Limit for operations with unknown launches, by count or by time. Beyond it, a prediction is
/// worthless: they alone could cause a larger error than the model itself (docs/whatif.md).
constexpr double kMostUnknown = 0.01;

Status checkUnmatched(const EmulatorGraph& graph, bool allowed) {
  const EmulatorGraph::Facts& facts = graph.facts;
  if (allowed || facts.unmatched_unknown == 0) return {};
  const double ops = static_cast<double>(facts.unmatched_unknown) /
                     static_cast<double>(std::max<size_t>(graph.ops.size(), 1));
  const double time = static_cast<double>(facts.unmatched_unknown_ns) /
                      static_cast<double>(std::max<int64_t>(facts.device_ns, 1));
  if (ops <= kMostUnknown && time <= kMostUnknown) return {};
  return fail(
      ErrorCode::kUnsupported,
      fmt::format("{} of {} operations ({:.1f} % of the device's time) have no launch in "
                  "the trace, so it is unknown what they waited for; record calls and "
                  "device work together, or keep their recorded times with --allow-unmatched",
                  facts.unmatched_unknown, graph.ops.size(), 100 * time));
}

}  // namespace

std::string_view toString(EmulatedEdgeKind kind) {
  constexpr std::array<std::string_view, kEmulatedEdgeKinds> kNames = {
      "launch",
      "stream order",
      "overlap in a stream",
      "event",
      "event (inferred)",
      "same memory (inferred)",
      "host wait",
      "host wait (inferred)",
      "full queue (inferred)",
      "hand-off between threads (inferred)"};
  return kNames[static_cast<size_t>(kind)];
}

std::array<uint64_t, kEmulatedEdgeKinds> EmulatorGraph::edgeCounts() const {
  std::array<uint64_t, kEmulatedEdgeKinds> counts{};
  for (const EmulatedEdge& edge : edges) ++counts[static_cast<size_t>(edge.kind)];
  return counts;
}

Result<EmulatorGraph> emulatorGraph(const Trace& trace, const EmulatorOptions& options) {
  using namespace emulator_parts;  // NOLINT: calls these parts in order
  // Node indices have 32 bits: two for a call, one for an operation.
  constexpr uint64_t kMostRows = uint64_t{1} << 30;
  if (trace.host_call.size() + trace.kernel.size() + trace.copy.size() + trace.fill.size() >
      kMostRows) {
    return fail(ErrorCode::kUnsupported,
                "more than 1,073,741,824 calls and operations; take a part of the trace "
                "('tracesmith export -f sbt --from … --to …')");
  }
  GraphMaker maker{.trace = trace, .options = options, .device_ops = DeviceOps::of(trace)};
  addOperations(maker);
  addHostSteps(maker);
  EmulatorGraph& graph = maker.graph;
  if (graph.ops.empty()) {
    return fail(ErrorCode::kUnsupported, "the trace has no device work whose time could change");
  }
  graph.begin_ns = graph.ops.front().begin_ns;
  graph.end_ns = graph.begin_ns;
  for (const EmulatedOp& op : graph.ops) graph.end_ns = std::max(graph.end_ns, op.end_ns);
  for (const HostStep& step : graph.steps) {
    graph.begin_ns = std::min(graph.begin_ns, step.recorded_ns);
    graph.end_ns = std::max(graph.end_ns, step.recorded_ns);
  }
  for (HostStep& step : graph.steps) {
    if (step.first) step.own_ns = step.recorded_ns - graph.begin_ns;
  }
  for (const auto add : {addEvents, addHostWaits, addFullQueues, addHandOffs, addDemands,
                         addCollectives, addDeviceCosts}) {
    add(maker);
    TS_CHECK_OK(checkCancelled());
  }
  TS_CHECK_OK(checkUnmatched(graph, options.allow_unmatched));
  for (const HostStep& step : graph.steps) {
    if (!step.end || step.own_ns <= 100'000) continue;
    ++graph.facts.long_calls;
    graph.facts.long_calls_ns += step.own_ns;
  }
  return std::move(graph);
}

}  // namespace tracesmith
