// SPDX-License-Identifier: Apache-2.0
// What the readers of a topology share: they add nodes and one-way links; the builder joins both
// ways of a link and names what contradicts itself.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "tracesmith/topology/topology.hpp"

namespace tracesmith::topology {

class TopologyBuilder {
 public:
  explicit TopologyBuilder(std::string source);
  /// Adds to what another source says.
  explicit TopologyBuilder(Topology topology) : topology_(std::move(topology)) {}

  NodeIndex machine() const { return 0; }
  NodeIndex add(NodeKind kind, NodeIndex parent);
  Node& operator[](NodeIndex node) { return topology_.nodes[node]; }
  Topology& topology() { return topology_; }

  /// The connection of a node to its parent by PCIe. An impossible width or rate is a problem.
  void setPcieUplink(NodeIndex node, double transfers, int width);

  /// One way of a link; counts of the same pair and type add up. `gbps`: of one link, per
  /// direction.
  void addLink(NodeIndex from, NodeIndex to, LinkType type, uint32_t count, double gbps,
               int generation = 0);
  /// For a source that states each link once.
  void addLinkBothWays(NodeIndex a, NodeIndex b, LinkType type, uint32_t count, double gbps,
                       int generation = 0);

  void problem(std::string sentence);

  /// Numbers GPUs, adapters and switches that have no number, in the order of their addresses.
  Topology finish();
  /// The same without checks, for what was finished before.
  Topology joined();

 private:
  struct Way {
    uint32_t count = 0;
    double gbps = 0;
    int generation = 0;
  };
  struct Ends {
    NodeIndex from, to;
    LinkType type;
    auto operator<=>(const Ends&) const = default;
  };

  void joinWays();
  void number(NodeKind kind);
  void check();

  Topology topology_;
  std::map<Ends, Way> ways_;
  size_t more_problems_ = 0;
};

/// "0-23,48" for a hexadecimal mask in words of 32 bits, which may lack zeros: "00000000,00ffffff"
/// of the kernel, "0x00000001,,0x00ffffff" of hwloc.
std::string cpuList(std::string_view mask);

}  // namespace tracesmith::topology
