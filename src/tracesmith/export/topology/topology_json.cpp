// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "tracesmith/export/topology/topology_text.hpp"

namespace tracesmith::topology {

namespace {

constexpr size_t kMostInPaths = 128;  // GPUs and adapters

void writeRate(JsonWriter& json, std::string_view name, double gbps) {
  json.key(name);
  gbps > 0 ? json.value(gbps) : json.null();
}

void writeNode(JsonWriter& json, const Topology& topology, NodeIndex i) {
  const Node& node = topology.nodes[i];
  json.beginObject()
      .field("id", i)
      .field("kind", toString(node.kind))
      .field("label", topology.label(i));
  json.key("parent");
  node.parent == kNoNode ? json.null() : json.value(node.parent);
  json.key("number");
  node.number < 0 ? json.null() : json.value(node.number);
  json.field("name", node.name).field("vendor", node.vendor).key("pci");
  node.pci ? json.value(toString(*node.pci)) : json.null();
  const NodeIndex numa = topology.numaOf(i);
  json.key("numa");
  numa == kNoNode ? json.null() : json.value(topology.nodes[numa].number);
  if (node.kind == NodeKind::kNuma) json.field("cpus", node.cpus);
  if (node.compute_capability > 0) json.field("compute_capability", node.compute_capability);
  if (node.memory_bytes > 0) json.field("memory_bytes", node.memory_bytes);
  if (node.kind == NodeKind::kNic) writeRate(json, "network_gbytes_per_s", node.network_gbps);
  if (node.uplink_type != LinkType::kInternal) {
    json.key("uplink")
        .beginObject()
        .field("type", toString(node.uplink_type))
        .field("name", node.uplink);
    writeRate(json, "gbytes_per_s", node.uplink_gbps);
    json.endObject();
  }
  json.endObject();
}

void writePaths(JsonWriter& json, const Topology& topology) {
  std::vector<NodeIndex> ends = topology.ofKind(NodeKind::kGpu);
  for (const NodeIndex nic : topology.ofKind(NodeKind::kNic)) ends.push_back(nic);
  const Routes routes(topology);
  // So that an empty list is not taken for a machine without routes.
  json.field("paths_left_out", ends.size() > kMostInPaths);
  json.key("paths").beginArray();
  if (ends.size() <= kMostInPaths) {
    for (const NodeIndex a : ends) {
      for (const NodeIndex b : ends) {
        if (a == b) continue;
        const Path path = routes.between(a, b);
        json.beginObject().field("from", a).field("to", b).field("class",
                                                                 toString(path.path_class));
        json.field("type", toString(path.type)).field("links", path.links);
        writeRate(json, "gbytes_per_s", path.gbps);
        json.endObject();
      }
    }
  }
  json.endArray();
}

}  // namespace

void writeJson(JsonWriter& json, const Topology& topology) {
  json.beginObject().field("source", topology.source).field("summary", summaryOf(topology));
  json.key("nodes").beginArray();
  for (NodeIndex i = 0; i < topology.nodes.size(); ++i) writeNode(json, topology, i);
  json.endArray().key("links").beginArray();
  for (const Link& link : topology.links) {
    json.beginObject().field("a", link.a).field("b", link.b).field("type", toString(link.type));
    json.field("count", link.count).key("generation");
    link.generation > 0 ? json.value(link.generation) : json.null();
    writeRate(json, "gbytes_per_s_ab", link.gbps_ab);
    writeRate(json, "gbytes_per_s_ba", link.gbps_ba);
    json.endObject();
  }
  json.endArray();
  writePaths(json, topology);
  json.key("graphs").beginArray();
  for (const CommGraph& graph : topology.graphs) {
    json.beginObject().field("id", graph.id).field("pattern", graph.pattern);
    json.field("type_intra", graph.type_intra).field("type_inter", graph.type_inter);
    json.field("gbytes_per_s_intra", graph.speed_intra)
        .field("gbytes_per_s_inter", graph.speed_inter);
    json.key("channels").beginArray();
    for (const auto& channel : graph.channels) {
      json.beginArray();
      for (const int32_t gpu : channel) json.value(gpu);
      json.endArray();
    }
    json.endArray().endObject();
  }
  json.endArray().key("problems").beginArray();
  for (const std::string& problem : topology.problems) json.value(problem);
  json.endArray().endObject();
}

}  // namespace tracesmith::topology
