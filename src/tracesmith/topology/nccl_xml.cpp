// SPDX-License-Identifier: Apache-2.0
// The XML of NCCL (graph/xml.cc) and RCCL. Bridges are there as switches: NCCL leaves out root
// ports and the lower half of each switch.
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <map>

#include "tracesmith/topology/text_numbers.hpp"
#include "tracesmith/topology/topology_builder.hpp"
#include "tracesmith/topology/topology_readers.hpp"

namespace tracesmith::topology {
namespace {

constexpr std::string_view kBridgeClass = "0x0604";
constexpr std::string_view kNvSwitchClass = "0x068000";
constexpr std::string_view kPowerClass = "0x068001";  // the NVLink port of a POWER processor
constexpr int64_t kMostLinks = 1024;                  // between two GPUs; there are 18 at most
constexpr double kMbitPerGbyte = 8000;

class NcclReader {
 public:
  explicit NcclReader(std::string source) : builder_(std::move(source)) {}

  Result<Topology> read(const XmlElement& system) {
    for (const XmlElement& child : system.children) {
      if (child.name == "cpu") {
        cpu(child);
      } else {
        device(child, builder_.machine());
      }
    }
    for (NodeIndex i = 0; i < builder_.topology().nodes.size(); ++i) {
      if (builder_[i].pci) by_address_.emplace(*builder_[i].pci, i);
    }
    for (const GpuLinks& each : links_) linksOf(each);
    return builder_.finish();
  }

 private:
  struct GpuLinks {
    NodeIndex gpu;
    const XmlElement* element;
  };

  void cpu(const XmlElement& element) {
    const NodeIndex node = builder_.add(NodeKind::kNuma, builder_.machine());
    // Virtual machines have -1.
    builder_[node].number = smallInteger(element["numaid"]).value_or(-1);
    builder_[node].cpus = cpuList(element["affinity"]);
    builder_[node].vendor = element["vendor"];
    for (const XmlElement& child : element.children) device(child, node);
  }

  void device(const XmlElement& element, NodeIndex parent) {
    if (element.name == "pci") {
      pci(element, parent);
    } else if (element.name == "nic") {
      nic(element, parent);
    }
  }

  void pci(const XmlElement& element, NodeIndex parent) {
    const std::string_view pci_class = element["class"];
    const XmlElement* gpu = nullptr;
    const XmlElement* adapter = nullptr;
    bool has_pci = false;
    for (const XmlElement& child : element.children) {
      if (child.name == "gpu") gpu = &child;
      if (child.name == "nic") adapter = &child;
      has_pci |= child.name == "pci";
    }
    NodeKind kind = NodeKind::kPciDevice;
    if (gpu != nullptr || isGpu(pci_class, element["vendor"])) {
      kind = NodeKind::kGpu;
    } else if (pci_class.starts_with(kBridgeClass) || has_pci) {
      kind = NodeKind::kPciSwitch;
    } else if (adapter != nullptr || pci_class.starts_with("0x02")) {
      kind = NodeKind::kNic;
    } else if (pci_class.starts_with(kNvSwitchClass)) {
      kind = NodeKind::kNvSwitch;
    }
    const auto address = pciAddress(element["busid"]);
    if (!address) {
      builder_.problem(
          fmt::format("line {}: '{}' is no PCI address", element.line, element["busid"]));
    }
    if (kind == NodeKind::kPciSwitch && address) {  // some files repeat it for each device below it
      const auto known = switches_.find({parent, *address});
      if (known != switches_.end()) return children(element, known->second);
    }
    const NodeIndex node = builder_.add(kind, parent);
    if (kind == NodeKind::kPciSwitch && address)
      switches_.emplace(std::pair(parent, *address), node);
    Node& n = builder_[node];
    n.vendor = pciVendor(element["vendor"]);
    n.pci = address;
    builder_.setPcieUplink(node, numberAtStart(element["link_speed"]),
                           smallInteger(element["link_width"]).value_or(0));
    if (gpu != nullptr) gpuOf(*gpu, node);
    if (adapter != nullptr && kind == NodeKind::kNic) netsOf(*adapter, node);
    children(element, node);
  }

  void children(const XmlElement& element, NodeIndex node) {
    for (const XmlElement& child : element.children) {
      const bool is_own = child.name == "nic" && builder_[node].kind == NodeKind::kNic;
      if (!is_own) device(child, node);
    }
  }

  void gpuOf(const XmlElement& element, NodeIndex node) {
    Node& n = builder_[node];
    n.number = smallInteger(element["dev"]).value_or(-1);
    n.name = element["gcn"];
    if (!n.name.empty() && !n.name.starts_with("gfx")) n.name = "gfx" + n.name;
    if (n.vendor.empty()) n.vendor = n.name.empty() ? "NVIDIA" : "AMD";
    if (n.vendor == "NVIDIA") {  // of others it is the number of compute units
      n.compute_capability = smallInteger(element["sm"]).value_or(0);
    }
    links_.push_back({node, &element});
  }

  /// An adapter without a PCI address is one of a virtual machine.
  void nic(const XmlElement& element, NodeIndex parent) {
    netsOf(element, builder_.add(NodeKind::kNic, parent));
  }

  void netsOf(const XmlElement& element, NodeIndex node) {
    Node& n = builder_[node];
    for (const XmlElement& net : element.children) {
      if (net.name != "net") continue;
      n.name += (n.name.empty() ? "" : ", ") + std::string(net["name"]);  // one per port
      if (n.number < 0) n.number = smallInteger(net["dev"]).value_or(-1);
      const auto speed = integer(net["speed"]);
      if (speed && *speed > 0) n.network_gbps += static_cast<double>(*speed) / kMbitPerGbyte;
    }
  }

  /// The other end of a link, which may be a switch that has no element of its own.
  NodeIndex target(NodeIndex gpu, const XmlElement& link) {
    const std::string text(link["target"]);
    if (const auto known = targets_.find(text); known != targets_.end()) return known->second;
    const std::string_view pci_class = link["tclass"];
    if (pci_class.starts_with(kPowerClass)) return builder_.topology().numaOf(gpu);
    const auto address = pciAddress(text);
    NodeIndex node = kNoNode;
    if (const auto at = address ? by_address_.find(*address) : by_address_.end();
        at != by_address_.end()) {
      node = at->second;
    } else if (pci_class.starts_with(kNvSwitchClass) || text.starts_with("fffffff:")) {
      node = builder_.add(NodeKind::kNvSwitch, builder_.machine());
      if (!text.starts_with("fffffff:")) builder_[node].pci = address;
    }
    targets_.emplace(text, node);
    return node;
  }

  void linksOf(const GpuLinks& gpu) {
    const int capability = builder_[gpu.gpu].compute_capability;
    for (const XmlElement& link : gpu.element->children) {
      const bool is_nvlink = link.name == "nvlink";
      if (!is_nvlink && link.name != "xgmi" && link.name != "c2c") continue;
      const auto count = integer(link["count"]).value_or(1);
      const std::string label = builder_.topology().label(gpu.gpu);
      if (count <= 0 || count > kMostLinks) {
        builder_.problem(fmt::format("line {}: {} cannot have {} links to {}", link.line, label,
                                     link["count"], link["target"]));
        continue;
      }
      const auto links = static_cast<uint32_t>(count);
      if (link.name == "c2c") {  // to the processor of its module, with the rate in MB/s
        const NodeIndex numa = builder_.topology().numaOf(gpu.gpu);
        if (numa == kNoNode) continue;
        const double rate = static_cast<double>(integer(link["bw"]).value_or(0)) / 1000;
        builder_.addLinkBothWays(gpu.gpu, numa, LinkType::kC2c, links, rate);
        continue;
      }
      const NodeIndex to = target(gpu.gpu, link);
      if (to == kNoNode || to == gpu.gpu) {
        const std::string why = to == gpu.gpu ? "is the GPU itself, as some virtual machines say"
                                              : "is not in the file";
        builder_.problem(fmt::format("{}: where {} of its {} links lead is not known: {} {}", label,
                                     links, is_nvlink ? "NVLink" : "xGMI", link["target"], why));
        continue;
      }
      const int generation = is_nvlink ? nvlinkGeneration(capability) : 0;
      const double rate =
          is_nvlink ? nvlinkBandwidth(generation) : xgmiBandwidth(builder_[gpu.gpu].name);
      const LinkType type = is_nvlink ? LinkType::kNvLink : LinkType::kXgmi;
      if (builder_[to].kind == NodeKind::kGpu) {
        builder_.addLink(gpu.gpu, to, type, links, rate, generation);
      } else {  // switches do not list their links
        builder_.addLinkBothWays(gpu.gpu, to, type, links, rate, generation);
      }
    }
  }

  TopologyBuilder builder_;
  std::vector<GpuLinks> links_;
  std::map<PciAddress, NodeIndex> by_address_;
  std::map<std::pair<NodeIndex, PciAddress>, NodeIndex> switches_;  // by what is above them
  std::map<std::string, NodeIndex> targets_;                        // of links
};

}  // namespace

Result<Topology> readNcclTopology(const XmlElement& system) {
  return NcclReader(fmt::format("topology of NCCL, version {}", system["version"])).read(system);
}

Result<Topology> readNcclGraphs(const XmlElement& graphs) {
  Topology out;
  out.source = fmt::format("graphs of NCCL, version {}", graphs["version"]);
  out.nodes.emplace_back();
  for (const XmlElement& element : graphs.children) {
    if (element.name != "graph") continue;
    CommGraph graph;
    graph.id = smallInteger(element["id"]).value_or(-1);
    // NCCL_TOPO_PATTERN_*
    switch (integer(element["pattern"]).value_or(0)) {
      case 1:
        graph.pattern = "balanced tree";
        break;
      case 2:
        graph.pattern = "split tree";
        break;
      case 3:
        graph.pattern = "tree";
        break;
      case 4:
        graph.pattern = "ring";
        break;
      case 5:
        graph.pattern = "NVLink SHARP";
        break;
      case 6:
        graph.pattern = "collnet direct";
        break;
      default:
        graph.pattern = fmt::format("pattern {}", element["pattern"]);
    }
    graph.type_intra = element["typeintra"];
    graph.type_inter = element["typeinter"];
    graph.speed_intra = numberAtStart(element["speedintra"]);
    graph.speed_inter = numberAtStart(element["speedinter"]);
    for (const XmlElement& channel : element.children) {
      if (channel.name != "channel") continue;
      std::vector<int32_t>& gpus = graph.channels.emplace_back();
      for (const XmlElement& gpu : channel.children) {
        if (gpu.name != "gpu") continue;
        gpus.push_back(smallInteger(gpu["dev"]).value_or(-1));
      }
    }
    out.graphs.push_back(std::move(graph));
  }
  return out;
}

}  // namespace tracesmith::topology
