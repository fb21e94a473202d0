// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/operators/operator_costs.hpp"

namespace tracesmith {
namespace {

/// Whether each node lies within another one of the same name.
std::vector<bool> recursiveNodes(const OperatorTree& tree) {
  std::vector<std::vector<uint32_t>> children(tree.nodes.size());
  for (uint32_t i = 1; i < tree.nodes.size(); ++i) children[tree.nodes[i].parent].push_back(i);
  std::vector<bool> recursive(tree.nodes.size());
  std::vector<uint32_t> open(tree.names.size());  // enclosing nodes, by name
  struct Visit {
    uint32_t node;
    bool leaves;
  };
  std::vector<Visit> next = {{0, false}};
  while (!next.empty()) {
    const Visit at = next.back();
    next.pop_back();
    uint32_t& same = open[tree.nodes[at.node].name];
    if (at.leaves) {
      --same;
      continue;
    }
    recursive[at.node] = same++ > 0;
    next.push_back({at.node, true});
    for (const uint32_t child : children[at.node]) next.push_back({child, false});
  }
  return recursive;
}

}  // namespace

OperatorCost costOf(const OperatorNode& node) {
  return {.calls = node.calls,
          .host_self_ns = node.host_self_ns,
          .host_total_ns = node.host_total_ns,
          .device_self_ns = node.device_self_ns,
          .device_total_ns = node.device_total_ns,
          .backward_total_ns = node.backward_total_ns,
          .launches = node.launches,
          .bytes = node.bytes};
}

std::vector<OperatorCost> operatorCosts(const OperatorTree& tree) {
  std::vector<OperatorCost> costs(tree.names.size());
  const std::vector<bool> recursive = recursiveNodes(tree);
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const OperatorNode& node = tree.nodes[i];
    OperatorCost& cost = costs[node.name];
    cost.calls += node.calls;
    cost.host_self_ns = endOf(cost.host_self_ns, node.host_self_ns);
    cost.device_self_ns = endOf(cost.device_self_ns, node.device_self_ns);
    cost.launches += node.launches;
    cost.bytes += node.bytes;
    if (recursive[i]) continue;
    cost.host_total_ns = endOf(cost.host_total_ns, node.host_total_ns);
    cost.device_total_ns = endOf(cost.device_total_ns, node.device_total_ns);
    cost.backward_total_ns = endOf(cost.backward_total_ns, node.backward_total_ns);
  }
  costs[0].device_total_ns = costs[0].device_self_ns;
  costs[0].backward_total_ns = 0;
  return costs;
}

}  // namespace tracesmith
