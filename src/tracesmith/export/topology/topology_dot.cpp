// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tracesmith/export/topology/topology_text.hpp"

namespace tracesmith::topology {

namespace {

std::string dotString(std::string_view text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string_view shapeOf(NodeKind kind) {
  switch (kind) {
    case NodeKind::kGpu:
      return "shape=box, style=filled, fillcolor=\"#c7e9c0\"";
    case NodeKind::kNic:
      return "shape=box, style=filled, fillcolor=\"#fdd0a2\"";
    case NodeKind::kNvSwitch:
      return "shape=hexagon, style=filled, fillcolor=\"#dadaeb\"";
    case NodeKind::kPciSwitch:
      return "shape=box, style=rounded";
    default:
      return "shape=plaintext";
  }
}

}  // namespace

std::string asDot(const Topology& topology) {
  std::string out = "graph topology {\n  rankdir=TB;\n  node [fontname=\"sans-serif\"];\n";
  for (NodeIndex i = 0; i < topology.nodes.size(); ++i) {
    const Node& node = topology.nodes[i];
    const std::string second =
        node.kind == NodeKind::kGpu || node.kind == NodeKind::kNic ? node.name : "";
    const std::string label = topology.label(i);
    out += fmt::format("  n{} [label={}, {}];\n", i,
                       dotString(second.empty() || second == label ? label : label + " " + second),
                       shapeOf(node.kind));
  }
  for (NodeIndex i = 0; i < topology.nodes.size(); ++i) {
    const Node& node = topology.nodes[i];
    if (node.parent != kNoNode)
      out += fmt::format("  n{} -- n{} [label={}];\n", node.parent, i, dotString(node.uplink));
  }
  for (const Link& link : topology.links) {
    out += fmt::format(
        "  n{} -- n{} [label={}, color=\"#31a354\", penwidth=2, constraint=false];\n", link.a,
        link.b, dotString(fmt::format("{} {}", link.count, toString(link.type))));
  }
  return out + "}\n";
}

}  // namespace tracesmith::topology
