// SPDX-License-Identifier: Apache-2.0
// Routes between the nodes of a topology: by what they pass, and how wide they are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/topology/topology.hpp"

namespace tracesmith::topology {

struct Path {
  PathClass path_class = PathClass::kUnknown;
  LinkType type = LinkType::kUnknown;  ///< of its narrowest part
  uint32_t links = 0;                  ///< of a fabric, in parallel, where it is narrowest
  bool is_switched = false;            ///< of a fabric: through switches alone
  int generation = 0;                  ///< of NVLink; 0: unknown
  /// From the first node to the second in GB/s: no more than this passes, since what lies between
  /// processors is not known. 0: unknown.
  double gbps = 0;
};
/// "NV12", "PIX": in few letters, as `nvidia-smi topo -m` has it; "?": unknown.
std::string pathText(const Path& path);

/// What all links of one type carry together, per direction.
struct Fabric {
  LinkType type = LinkType::kUnknown;
  uint32_t links = 0;
  double gbps = 0;  ///< 0: unknown
};

/// Refers to the topology, which must outlive it.
class Routes {
 public:
  explicit Routes(const Topology& topology);

  const Topology& topology() const { return topology_; }
  /// The best route. A fabric is taken before PCIe; GPUs pass nothing on to others.
  Path between(NodeIndex a, NodeIndex b) const;
  /// The adapters that a GPU reaches by the best class of route, the widest first.
  std::vector<NodeIndex> nearestAdapters(NodeIndex gpu) const;
  /// The links of a node, by type.
  std::vector<Fabric> fabricsOf(NodeIndex node) const;

 private:
  std::vector<const Link*> linksFor(NodeIndex a, NodeIndex b) const;
  std::optional<Path> byFabric(NodeIndex a, NodeIndex b) const;
  Path byTree(NodeIndex a, NodeIndex b) const;

  const Topology& topology_;
  std::vector<std::vector<const Link*>> links_of_;  // by node
  std::vector<const Link*> between_switches_;
  std::map<std::pair<NodeIndex, NodeIndex>, PathClass> stated_;
  std::vector<NodeIndex> adapters_;
};

}  // namespace tracesmith::topology
