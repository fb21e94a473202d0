// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/topology/routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tracesmith::topology {
namespace {

/// The largest flow from a node to another over some links (Edmonds and Karp 1972).
class FabricFlow {
 public:
  template <class Capacity>
  FabricFlow(const std::vector<const Link*>& links, NodeIndex a, NodeIndex b, Capacity capacity) {
    place(a);
    place(b);
    for (const Link* link : links) {
      const size_t from = place(link->a), to = place(link->b);
      edges_[from].push_back({to, edges_[to].size(), capacity(*link, true)});
      edges_[to].push_back({from, edges_[from].size() - 1, capacity(*link, false)});
    }
  }

  double most() {
    double sum = 0;
    while (findRoute()) {
      double width = std::numeric_limits<double>::infinity();
      for (size_t to = 1; to != 0; to = before_[to].from) width = std::min(width, taken(to).left);
      for (size_t to = 1; to != 0; to = before_[to].from) {
        Edge& edge = taken(to);
        edge.left -= width;
        edges_[to][edge.back].left += width;
      }
      sum += width;
    }
    return sum;
  }

 private:
  struct Edge {
    size_t to;
    size_t back;  // which of the other end's edges leads back
    double left;
  };
  struct Step {
    size_t from = SIZE_MAX;  // not reached
    size_t edge = 0;
  };

  /// Nodes in the order in which they occur: the source is 0 and the target 1.
  size_t place(NodeIndex node) {
    const auto [it, is_new] = places_.try_emplace(node, edges_.size());
    if (is_new) edges_.emplace_back();
    return it->second;
  }
  Edge& taken(size_t to) { return edges_[before_[to].from][before_[to].edge]; }

  bool findRoute() {
    before_.assign(edges_.size(), {});
    before_[0].from = 0;
    std::vector<size_t> next = {0};
    for (size_t i = 0; i < next.size() && before_[1].from == SIZE_MAX; ++i) {
      const std::vector<Edge>& edges = edges_[next[i]];
      for (size_t k = 0; k < edges.size(); ++k) {
        if (edges[k].left <= 0 || before_[edges[k].to].from != SIZE_MAX) continue;
        before_[edges[k].to] = {next[i], k};
        next.push_back(edges[k].to);
      }
    }
    return before_[1].from != SIZE_MAX;
  }

  std::map<NodeIndex, size_t> places_;
  std::vector<std::vector<Edge>> edges_;
  std::vector<Step> before_;
};

}  // namespace

std::string pathText(const Path& path) {
  switch (path.path_class) {
    case PathClass::kSelf:
      return "-";
    case PathClass::kUnknown:
      return "?";
    case PathClass::kDirect:
      return path.type == LinkType::kC2c      ? "C2C"
             : path.type == LinkType::kNvLink ? fmt::format("NV{}", path.links)
             : path.type == LinkType::kMxLink ? fmt::format("MX{}", path.links)
                                              : fmt::format("XG{}", path.links);
    default:
      return std::string(toString(path.path_class));
  }
}

Routes::Routes(const Topology& topology)
    : topology_(topology),
      links_of_(topology.nodes.size()),
      adapters_(topology.ofKind(NodeKind::kNic)) {
  const auto is_switch = [&](NodeIndex i) { return topology.nodes[i].kind == NodeKind::kNvSwitch; };
  for (const Link& link : topology.links) {
    links_of_[link.a].push_back(&link);
    links_of_[link.b].push_back(&link);
    if (is_switch(link.a) && is_switch(link.b)) between_switches_.push_back(&link);
  }
  for (const StatedPath& stated : topology.stated_paths) {
    stated_.emplace(std::pair(stated.a, stated.b), stated.path_class);
  }
}

/// Those from one to the other, to switches and between switches.
std::vector<const Link*> Routes::linksFor(NodeIndex a, NodeIndex b) const {
  std::vector<const Link*> links = between_switches_;
  for (const NodeIndex end : {a, b}) {
    for (const Link* link : links_of_[end]) {
      const NodeIndex other = link->a == end ? link->b : link->a;
      // What connects both is in both lists.
      if (other == b || (other != a && topology_.nodes[other].kind == NodeKind::kNvSwitch))
        links.push_back(link);
    }
  }
  return links;
}

std::optional<Path> Routes::byFabric(NodeIndex a, NodeIndex b) const {
  if (links_of_[a].empty() || links_of_[b].empty()) return std::nullopt;
  const std::vector<const Link*> usable = linksFor(a, b);
  const double links = FabricFlow(usable, a, b, [](const Link& link, bool) {
                         return double{1} * link.count;
                       }).most();
  if (links == 0) return std::nullopt;
  Path path;
  path.path_class = PathClass::kDirect;
  path.links = static_cast<uint32_t>(links);
  path.gbps = FabricFlow(usable, a, b, [](const Link& link, bool forth) {
                return forth ? link.gbps_ab : link.gbps_ba;
              }).most();
  path.is_switched = true;
  for (const Link* link : usable) {
    if (link->a != a && link->b != a) continue;
    path.type = link->type;
    path.generation = std::max(path.generation, link->generation);
    path.is_switched = path.is_switched && link->a != b && link->b != b;
  }
  return path;
}

Path Routes::byTree(NodeIndex a, NodeIndex b) const {
  const std::vector<NodeIndex> of_a = topology_.ancestors(a), of_b = topology_.ancestors(b);
  size_t common = 0;  // from the machine
  while (common < of_a.size() && common < of_b.size() &&
         of_a[of_a.size() - 1 - common] == of_b[of_b.size() - 1 - common]) {
    ++common;
  }
  Path path;
  if (common == 0) return path;
  const NodeIndex meeting = of_a[of_a.size() - common];
  size_t switches = topology_.nodes[meeting].kind == NodeKind::kPciSwitch ? 1 : 0;
  size_t host_bridges = 0;
  double narrowest = std::numeric_limits<double>::infinity();
  bool is_known = true;
  for (const auto* side : {&of_a, &of_b}) {
    for (size_t i = 0; i + common < side->size(); ++i) {
      const Node& node = topology_.nodes[(*side)[i]];
      if (i > 0 && node.kind == NodeKind::kPciSwitch) ++switches;
      if (node.kind == NodeKind::kHostBridge) ++host_bridges;
      if (node.uplink_type != LinkType::kPcie) continue;
      is_known = is_known && node.uplink_gbps > 0;
      narrowest = std::min(narrowest, node.uplink_gbps);
    }
  }
  path.type = LinkType::kPcie;
  if (is_known && narrowest < std::numeric_limits<double>::infinity()) path.gbps = narrowest;
  switch (topology_.nodes[meeting].kind) {
    case NodeKind::kPciSwitch:
      path.path_class = switches == 1 ? PathClass::kPix : PathClass::kPxb;
      break;
    case NodeKind::kHostBridge:
      path.path_class = PathClass::kPhb;
      break;
    case NodeKind::kNuma:
      path.path_class = host_bridges == 2 ? PathClass::kNode : PathClass::kPhb;
      break;
    case NodeKind::kMachine:
      if (topology_.numaOf(a) != kNoNode && topology_.numaOf(b) != kNoNode)
        path.path_class = PathClass::kSys;
      break;
    default:  // one is below the other
      path.path_class = PathClass::kPix;
  }
  return path;
}

Path Routes::between(NodeIndex a, NodeIndex b) const {
  if (a == b) return {.path_class = PathClass::kSelf, .type = LinkType::kInternal};
  if (const auto fabric = byFabric(a, b)) return *fabric;
  if (const auto stated = stated_.find({a, b}); stated != stated_.end()) {
    return {.path_class = stated->second, .type = LinkType::kPcie};
  }
  return byTree(a, b);
}

std::vector<NodeIndex> Routes::nearestAdapters(NodeIndex gpu) const {
  std::vector<std::pair<Path, NodeIndex>> reached;
  for (const NodeIndex nic : adapters_) reached.emplace_back(between(gpu, nic), nic);
  std::stable_sort(reached.begin(), reached.end(), [](const auto& x, const auto& y) {
    return std::pair(x.first.path_class, -x.first.gbps) <
           std::pair(y.first.path_class, -y.first.gbps);
  });
  std::vector<NodeIndex> nearest;
  for (const auto& [path, nic] : reached) {
    if (path.path_class == PathClass::kUnknown ||
        path.path_class != reached.front().first.path_class)
      break;
    nearest.push_back(nic);
  }
  return nearest;
}

std::vector<Fabric> Routes::fabricsOf(NodeIndex node) const {
  std::map<LinkType, Fabric> by_type;
  std::map<LinkType, bool> lacks_rate;
  for (const Link* link : links_of_[node]) {
    const double gbps = link->a == node ? link->gbps_ab : link->gbps_ba;
    Fabric& fabric = by_type[link->type];
    fabric.type = link->type;
    fabric.links += link->count;
    fabric.gbps += gbps;
    lacks_rate[link->type] |= gbps <= 0;
  }
  std::vector<Fabric> fabrics;
  for (auto& [type, fabric] : by_type) {
    if (lacks_rate[type]) fabric.gbps = 0;
    fabrics.push_back(fabric);
  }
  return fabrics;
}

}  // namespace tracesmith::topology
