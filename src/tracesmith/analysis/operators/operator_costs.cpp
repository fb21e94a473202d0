// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/operators/operator_costs.hpp"

namespace tracesmith {
namespace {

/// Whether a node of the same name encloses it.
bool isRecursive(const OperatorTree& tree, const OperatorNode& node) {
  for (uint32_t at = node.parent; at != 0; at = tree.nodes[at].parent) {
    if (tree.nodes[at].name == node.name) return true;
  }
  return false;
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
  for (const OperatorNode& node : tree.nodes) {
    OperatorCost& cost = costs[node.name];
    cost.calls += node.calls;
    cost.host_self_ns = endOf(cost.host_self_ns, node.host_self_ns);
    cost.device_self_ns = endOf(cost.device_self_ns, node.device_self_ns);
    cost.launches += node.launches;
    cost.bytes += node.bytes;
    if (isRecursive(tree, node)) continue;
    cost.host_total_ns = endOf(cost.host_total_ns, node.host_total_ns);
    cost.device_total_ns = endOf(cost.device_total_ns, node.device_total_ns);
    cost.backward_total_ns = endOf(cost.backward_total_ns, node.backward_total_ns);
  }
  costs[0].device_total_ns = costs[0].device_self_ns;
  costs[0].backward_total_ns = 0;
  return costs;
}

}  // namespace tracesmith
