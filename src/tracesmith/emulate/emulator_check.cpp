// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/emulate/emulator_check.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "tracesmith/emulate/host_context.hpp"

namespace tracesmith {

EmulationErrors errorsOf(const EmulatorGraph& graph, const Emulation& emulation) {
  EmulationErrors out;
  out.recorded_ns = graph.end_ns - graph.begin_ns;
  out.predicted_ns = emulation.last_ns - graph.begin_ns;
  std::vector<int64_t> errors;
  errors.reserve(graph.ops.size());
  for (uint32_t i = 0; i < graph.ops.size(); ++i) {
    if (graph.ops[i].gone) continue;
    errors.push_back(std::abs(emulation.end_ns[graph.nodeOf(i)] - graph.ops[i].end_ns));
  }
  out.ops = errors.size();
  if (errors.empty()) return out;
  std::sort(errors.begin(), errors.end());
  out.end_p50_ns = errors[errors.size() / 2];
  out.end_p95_ns = errors[errors.size() * 95 / 100];
  out.end_max_ns = errors.back();
  return out;
}

EmulatorGraph withTypicalHost(const Trace& trace, const EmulatorGraph& graph, uint64_t* kept) {
  EmulatorGraph out = graph;
  const HostContext context(trace, graph);
  struct Sum {
    int64_t n = 0;
    double total = 0;
  };
  std::unordered_map<uint64_t, Sum> sums;
  const auto each = [&](auto&& value) {
    for (uint32_t i = 1; i < graph.steps.size(); ++i) {
      if (graph.steps[i].first) continue;
      value(context.own(i), context.ownByCalls(i), out.steps[i].own_ns);
    }
    for (EmulatedEdge& edge : out.edges) {
      if (!graph.isOp(edge.to)) value(context.wait(edge), context.waitByCall(edge), edge.offset_ns);
    }
  };
  each([&](uint64_t key, uint64_t coarse, int64_t ns) {
    for (const uint64_t k : {key, coarse}) {
      Sum& sum = sums[k];
      ++sum.n;
      sum.total += static_cast<double>(ns);
    }
  });
  uint64_t alone = 0;
  each([&](uint64_t key, uint64_t coarse, int64_t& ns) {
    const Sum* sum = &sums[key];
    if (sum->n < 2) sum = &sums[coarse];
    if (sum->n < 2) {
      ++alone;
      return;
    }
    ns = std::llround((sum->total - static_cast<double>(ns)) / static_cast<double>(sum->n - 1));
  });
  if (kept != nullptr) *kept = alone;
  return out;
}

}  // namespace tracesmith
