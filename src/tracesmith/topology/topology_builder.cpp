// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/topology/topology_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace tracesmith::topology {
namespace {

constexpr size_t kMostProblems = 64;  // the rest of them are counted

}  // namespace

TopologyBuilder::TopologyBuilder(std::string source) {
  topology_.source = std::move(source);
  topology_.nodes.emplace_back();
}

NodeIndex TopologyBuilder::add(NodeKind kind, NodeIndex parent) {
  Node node;
  node.kind = kind;
  node.parent = parent;
  topology_.nodes.push_back(std::move(node));
  return static_cast<NodeIndex>(topology_.nodes.size() - 1);
}

void TopologyBuilder::setPcieUplink(NodeIndex node, double transfers, int width) {
  Node& n = topology_.nodes[node];
  n.uplink_type = LinkType::kPcie;
  n.uplink_gbps = pcieBandwidth(transfers, width);
  n.uplink = pcieName(transfers, width);
  // Virtual machines state neither, or a width of 0; some a rate of 0.
  if (n.uplink_gbps == 0 && transfers > 0 && width != 0) {
    problem(fmt::format("{}: there is no PCIe connection of {} lanes with {} GT/s",
                        topology_.label(node), width, transfers));
  }
}

void TopologyBuilder::addLink(NodeIndex from, NodeIndex to, LinkType type, uint32_t count,
                              double gbps, int generation) {
  Way& way = ways_[{from, to, type}];
  way.count += count;
  way.gbps += gbps * count;
  way.generation = std::max(way.generation, generation);
}

void TopologyBuilder::addLinkBothWays(NodeIndex a, NodeIndex b, LinkType type, uint32_t count,
                                      double gbps, int generation) {
  addLink(a, b, type, count, gbps, generation);
  addLink(b, a, type, count, gbps, generation);
}

void TopologyBuilder::problem(std::string sentence) {
  if (topology_.problems.size() < kMostProblems) {
    topology_.problems.push_back(std::move(sentence));
  } else {
    ++more_problems_;
  }
}

void TopologyBuilder::joinWays() {
  for (const auto& [ends, way] : ways_) {
    const auto other = ways_.find({ends.to, ends.from, ends.type});
    if (other != ways_.end() && ends.to < ends.from) continue;  // joined from its other end
    Link link{ends.from, ends.to, ends.type, way.count, way.gbps, 0, way.generation};
    const std::string pair =
        fmt::format("{} and {}", topology_.label(ends.from), topology_.label(ends.to));
    if (other == ways_.end()) {
      problem(fmt::format("{}: {} {} links are stated from the first to the second, none back",
                          pair, way.count, toString(ends.type)));
    } else {
      link.gbps_ba = other->second.gbps;
      if (other->second.count != way.count) {
        problem(fmt::format("{}: {} {} links are stated one way and {} the other", pair, way.count,
                            toString(ends.type), other->second.count));
        link.count = std::min(way.count, other->second.count);
      }
    }
    topology_.links.push_back(link);
  }
}

void TopologyBuilder::number(NodeKind kind) {
  std::vector<NodeIndex> without;
  std::set<int32_t> taken;
  for (NodeIndex i = 0; i < topology_.nodes.size(); ++i) {
    const Node& node = topology_.nodes[i];
    if (node.kind != kind) continue;
    if (node.number < 0) {
      without.push_back(i);
    } else {
      taken.insert(node.number);
    }
  }
  std::stable_sort(without.begin(), without.end(), [&](NodeIndex a, NodeIndex b) {
    return topology_.nodes[a].pci < topology_.nodes[b].pci;
  });
  int32_t next = 0;
  for (const NodeIndex i : without) {
    while (taken.contains(next)) ++next;
    topology_.nodes[i].number = next++;
  }
}

void TopologyBuilder::check() {
  std::set<std::pair<NodeKind, int32_t>> numbers;
  std::map<PciAddress, NodeIndex> by_address;
  for (NodeIndex i = 0; i < topology_.nodes.size(); ++i) {
    const Node& node = topology_.nodes[i];
    if (node.number >= 0 && !numbers.emplace(node.kind, node.number).second) {
      problem(fmt::format("two nodes are {}", topology_.label(i)));
    }
    if (!node.pci) continue;
    const auto [it, is_new] = by_address.emplace(*node.pci, i);
    if (!is_new) {
      problem(fmt::format("{} and {} have the same PCI address {}", topology_.label(it->second),
                          topology_.label(i), toString(*node.pci)));
    }
  }
}

Topology TopologyBuilder::finish() {
  check();
  return joined();
}

Topology TopologyBuilder::joined() {
  for (const NodeKind kind : {NodeKind::kGpu, NodeKind::kNic, NodeKind::kNvSwitch}) number(kind);
  joinWays();
  if (more_problems_ > 0) {
    topology_.problems.push_back(fmt::format("and {} more of this kind", more_problems_));
  }
  return std::move(topology_);
}

std::string cpuList(std::string_view mask) {
  std::vector<bool> set;  // by processor
  unsigned bits_of_word = 0;
  for (size_t i = mask.size(); i-- > 0;) {
    const char c = mask[i];
    if (c == ',') {  // a word may be written without its zeros
      set.resize(set.size() + 32 - bits_of_word);
      bits_of_word = 0;
      continue;
    }
    if (c == 'x' && i > 0) {  // of "0x"
      --i;
      continue;
    }
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return {};
    for (int bit = 0; bit < 4; ++bit) set.push_back((digit >> bit & 1) != 0);
    bits_of_word = std::min(bits_of_word + 4, 32U);
  }
  std::string list;
  for (size_t first = 0; first < set.size(); ++first) {
    if (!set[first]) continue;
    size_t last = first;
    while (last + 1 < set.size() && set[last + 1]) ++last;
    list += fmt::format("{}{}", list.empty() ? "" : ",", first);
    if (last > first) list += fmt::format("-{}", last);
    first = last;
  }
  return list;
}

}  // namespace tracesmith::topology
