// SPDX-License-Identifier: Apache-2.0
// How the GPUs, network adapters and processors of one machine are connected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/model/kinds.hpp"

namespace tracesmith::topology {

using NodeKind = TopologyNodeKind;
using LinkType = TopologyLinkType;

/// A PCI address; `domain` may exceed 16 bits (virtual machines, Intel VMD).
struct PciAddress {
  uint32_t domain = 0;
  uint8_t bus = 0;
  uint8_t device = 0;
  uint8_t function = 0;

  friend bool operator==(const PciAddress&, const PciAddress&) = default;
  friend auto operator<=>(const PciAddress&, const PciAddress&) = default;
};
/// Reads "0000:3b:00.0", "3b:00.0" or "00000000:3B:00.0".
std::optional<PciAddress> pciAddress(std::string_view text);
std::string toString(const PciAddress& address);

using NodeIndex = uint32_t;
constexpr NodeIndex kNoNode = UINT32_MAX;

struct Node {
  NodeKind kind = NodeKind::kMachine;
  NodeIndex parent = kNoNode;  ///< towards the machine; kNoNode for the machine alone
  int32_t number = -1;         ///< of a GPU, an adapter or a NUMA node, as its source counts
  std::string name;            ///< such as "mlx5_0" or the model of a GPU; may be empty
  std::string vendor;          ///< "NVIDIA", "AMD", ...; may be empty
  std::optional<PciAddress> pci;
  std::string uuid;                ///< of a GPU, as CUDA has it; may be empty; in no row
  std::string cpus;                ///< of a NUMA node, as a list: "0-23,48-71"
  double network_gbps = 0;         ///< of an adapter's ports together, in GB/s; 0: unknown
  int32_t compute_capability = 0;  ///< of an NVIDIA GPU: 90 for 9.0; 0: unknown
  uint64_t memory_bytes = 0;       ///< 0: unknown
  LinkType uplink_type = LinkType::kInternal;  ///< of the connection to the parent
  double uplink_gbps = 0;                      ///< per direction, in GB/s; 0: unknown
  std::string uplink;                          ///< for people: "PCIe 5.0 x16"

  friend bool operator==(const Node&, const Node&) = default;
};

/// A connection beside the tree of parents: NVLink, Infinity Fabric and the like.
struct Link {
  NodeIndex a = kNoNode;
  NodeIndex b = kNoNode;
  LinkType type = LinkType::kUnknown;
  uint32_t count = 1;  ///< parallel links
  double gbps_ab = 0;  ///< of all of them together from a to b, in GB/s; 0: unknown
  double gbps_ba = 0;
  int generation = 0;  ///< of NVLink; 0: unknown

  friend bool operator==(const Link&, const Link&) = default;
};

/// The route between two nodes, by what it has to cross; a better one comes first. The names are
/// those of `nvidia-smi topo -m`.
enum class PathClass : uint8_t {
  kSelf,
  kDirect,  ///< links of a fabric (NVLink, Infinity Fabric), directly or through its switches
  kPix,     ///< one PCIe switch
  kPxb,     ///< several PCIe switches
  kPhb,     ///< a host bridge
  kNode,    ///< two host bridges of a NUMA node
  kSys,     ///< two NUMA nodes
  kUnknown,
};
std::string_view toString(PathClass path_class);
std::optional<PathClass> pathClass(std::string_view name);

/// What a source says about a pair that has no tree of parents.
struct StatedPath {
  NodeIndex a = kNoNode;
  NodeIndex b = kNoNode;
  PathClass path_class = PathClass::kUnknown;
};

/// A ring or tree that NCCL has chosen, as its graph file has it.
struct CommGraph {
  int32_t id = 0;
  std::string pattern;
  std::string type_intra, type_inter;
  double speed_intra = 0, speed_inter = 0;     ///< GB/s of a channel
  std::vector<std::vector<int32_t>> channels;  ///< numbers of GPUs, in order
};

struct Topology {
  std::string source;       ///< for people: "NCCL topology", "hwloc 2.0 XML", ...
  std::vector<Node> nodes;  ///< the first is the machine
  std::vector<Link> links;
  std::vector<StatedPath> stated_paths;
  std::vector<CommGraph> graphs;
  std::vector<std::string> problems;  ///< what contradicts itself or cannot be, as sentences

  std::vector<NodeIndex> ofKind(NodeKind kind) const;
  /// The node and its parents, the machine last.
  std::vector<NodeIndex> ancestors(NodeIndex node) const;
  /// The NUMA node around a node; kNoNode if none is known.
  NodeIndex numaOf(NodeIndex node) const;
  std::optional<NodeIndex> at(const PciAddress& address) const;
  /// "GPU0", "mlx5_0", "NUMA 1", ...
  std::string label(NodeIndex node) const;
};

/// Nominal rate of a PCIe connection per direction in GB/s, after encoding (PCI Express Base
/// Specification 6.0, 4.2.1 and 4.2.2); 0 if there is no such rate. `transfers`: GT/s of a lane.
double pcieBandwidth(double transfers, int width);
/// "PCIe 5.0 x16"; empty if there is no such rate.
std::string pcieName(double transfers, int width);
/// Nominal rate of one NVLink per direction in GB/s, by generation (1 to 5); 0: unknown.
double nvlinkBandwidth(int generation);
/// The generation of NVLink that GPUs of a compute capability have (70 for 7.0); 0: unknown.
int nvlinkGeneration(int compute_capability);
/// Nominal rate of one Infinity Fabric link per direction in GB/s, by LLVM's name of the processor
/// ("gfx942", or "906" as older files have it); 0: unknown.
double xgmiBandwidth(std::string_view processor);

/// "NVIDIA" for "0x10de"; empty for vendors that make neither GPUs nor adapters.
std::string_view pciVendor(std::string_view id);
/// Whether a PCI function is a GPU, by its class ("0x030200") and vendor ("0x10de" or empty).
bool isGpu(std::string_view pci_class, std::string_view vendor);

}  // namespace tracesmith::topology
