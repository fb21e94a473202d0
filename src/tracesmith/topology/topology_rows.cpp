// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/topology/topology_rows.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tracesmith::topology {
namespace {

constexpr std::string_view kSourceKey = "topology_source";
constexpr std::string_view kProblemKey = "topology_problem";  // followed by a number, from 1

constexpr double kBytesOfGb = 1e9;

// What no host has, but a damaged trace may.
constexpr size_t kMostRowsOfNodes = 4096;
constexpr size_t kMostRowsOfLinks = 1u << 16;
constexpr uint32_t kMostDepthOfRows = 256;

uint64_t bytesOf(double gbps) {
  return gbps > 0 && gbps < 1e9 ? static_cast<uint64_t>(std::llround(gbps * kBytesOfGb)) : 0;
}
double gbpsOf(uint64_t bytes) { return static_cast<double>(bytes) / kBytesOfGb; }

int32_t numberOf(int64_t stored) {
  return stored >= 0 && stored <= std::numeric_limits<int32_t>::max() ? static_cast<int32_t>(stored)
                                                                      : -1;
}

class FromRows {
 public:
  explicit FromRows(const Trace& trace) : trace_(trace) {}

  Topology read() {
    topology_.source = trace_.metadataValue(kSourceKey);
    const size_t nodes = std::min(trace_.topology_node.size(), kMostRowsOfNodes);
    const size_t links = std::min(trace_.topology_link.size(), kMostRowsOfLinks);
    damaged_ = trace_.topology_node.size() - nodes + trace_.topology_link.size() - links;
    for (size_t i = 0; i < nodes; ++i) addNode(trace_.topology_node.row(i));
    for (size_t i = 0; i < links; ++i) addLink(trace_.topology_link.row(i));
    for (size_t i = 1;; ++i) {
      const std::string_view problem = trace_.metadataValue(fmt::format("{}.{}", kProblemKey, i));
      if (problem.empty()) break;
      topology_.problems.emplace_back(problem);
    }
    if (damaged_ > 0) {
      topology_.problems.push_back(
          fmt::format("{} nodes and links of the trace lead nowhere: it is damaged", damaged_));
    }
    return std::move(topology_);
  }

 private:
  NodeIndex indexAt(TopologyNodeId id) const {
    const auto i = static_cast<size_t>(id);
    return i == 0 || i > trace_.topology_node.size() ? kNoNode : static_cast<NodeIndex>(i - 1);
  }
  std::string text(StringId id) const { return std::string(trace_.text(id)); }

  void addNode(const TopologyNodeRow& row) {
    Node node;
    const auto index = static_cast<NodeIndex>(topology_.nodes.size());
    // A parent precedes its children, so that there is no cycle.
    node.parent = indexAt(row.parent_id);
    if (index == 0) {
      damaged_ += node.parent != kNoNode || row.kind != NodeKind::kMachine;
      node.parent = kNoNode;
    } else if (node.parent >= index || depths_[node.parent] >= kMostDepthOfRows) {
      ++damaged_;
      node.parent = 0;
    }
    depths_.push_back(index == 0 ? 0 : depths_[node.parent] + 1);
    node.kind = index == 0 ? NodeKind::kMachine
                : row.kind > NodeKind::kPciDevice || row.kind <= NodeKind::kMachine
                    ? NodeKind::kPciDevice
                    : row.kind;
    node.number = numberOf(row.number);
    node.name = text(row.name);
    node.vendor = text(row.vendor);
    node.pci = pciAddress(trace_.text(row.pci_address));
    node.cpus = text(row.cpus);
    node.network_gbps = gbpsOf(row.network_bytes_per_s);
    node.compute_capability = numberOf(row.compute_capability);
    node.memory_bytes = row.memory_bytes;
    node.uplink_type = row.uplink_type > LinkType::kMxLink ? LinkType::kUnknown : row.uplink_type;
    node.uplink_gbps = gbpsOf(row.uplink_bytes_per_s);
    node.uplink = text(row.uplink);
    topology_.nodes.push_back(std::move(node));
  }

  void addLink(const TopologyLinkRow& row) {
    const Link link{.a = indexAt(row.from_id),
                    .b = indexAt(row.to_id),
                    .type = row.type > LinkType::kMxLink ? LinkType::kUnknown : row.type,
                    .count = row.count,
                    .gbps_ab = gbpsOf(row.bytes_per_s),
                    .gbps_ba = gbpsOf(row.bytes_per_s_back),
                    .generation = numberOf(row.generation)};
    const size_t nodes = topology_.nodes.size();
    if (link.a >= nodes || link.b >= nodes || link.a == link.b) {
      ++damaged_;
      return;
    }
    topology_.links.push_back(link);
  }

  const Trace& trace_;
  std::vector<uint32_t> depths_;  // by node
  size_t damaged_ = 0;
  Topology topology_;
};

}  // namespace

void appendRows(const Topology& topology, Trace& rows) {
  const size_t before = rows.topology_node.size();
  const auto id = [&](NodeIndex node) {
    return node == kNoNode ? TopologyNodeId::kNone : idAt<TopologyNodeId>(before + node);
  };
  const auto text = [&](std::string_view s) { return rows.strings.intern(s); };
  for (NodeIndex i = 0; i < topology.nodes.size(); ++i) {
    const Node& node = topology.nodes[i];
    rows.topology_node.push(
        {.id = id(i),
         .kind = node.kind,
         .parent_id = id(node.parent),
         .number = node.number,
         .name = text(node.name),
         .vendor = text(node.vendor),
         .pci_address = node.pci ? text(toString(*node.pci)) : StringId::kNone,
         .cpus = text(node.cpus),
         .uplink_type = node.uplink_type,
         .uplink = text(node.uplink),
         .uplink_bytes_per_s = bytesOf(node.uplink_gbps),
         .network_bytes_per_s = bytesOf(node.network_gbps),
         .compute_capability = static_cast<uint32_t>(std::max(node.compute_capability, 0)),
         .memory_bytes = node.memory_bytes});
  }
  for (const Link& link : topology.links) {
    rows.topology_link.push({.from_id = id(link.a),
                             .to_id = id(link.b),
                             .type = link.type,
                             .count = link.count,
                             .bytes_per_s = bytesOf(link.gbps_ab),
                             .bytes_per_s_back = bytesOf(link.gbps_ba),
                             .generation = static_cast<uint32_t>(std::max(link.generation, 0))});
  }
  rows.setMetadata(kSourceKey, topology.source);
  for (size_t i = 0; i < topology.problems.size(); ++i) {
    rows.setMetadata(fmt::format("{}.{}", kProblemKey, i + 1), topology.problems[i]);
  }
}

Result<Topology> topologyOf(const Trace& trace) {
  if (!trace.topology_node.empty()) return FromRows(trace).read();
  const std::string_view problem = trace.metadataValue(fmt::format("{}.1", kProblemKey));
  return fail(ErrorCode::kUnsupported,
              problem.empty() ? "the trace has no topology: it was imported, or recorded by an "
                                "older version"
                              : fmt::format("the topology could not be read: {}", problem));
}

}  // namespace tracesmith::topology
