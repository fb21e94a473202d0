// SPDX-License-Identifier: Apache-2.0
// The XML of hwloc, versions 2 and 3 (hwloc2.dtd). Bridges are there one by one: below a host
// bridge a root port, then for each switch its upper port and its lower ports.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>

#include "tracesmith/topology/text_numbers.hpp"
#include "tracesmith/topology/topology_builder.hpp"
#include "tracesmith/topology/topology_readers.hpp"

namespace tracesmith::topology {
namespace {

constexpr size_t kMostDistances = 1024;           // objects of one table
constexpr uint64_t kMostBandwidth = 100'000'000;  // MB/s between two of them

std::string_view info(const XmlElement& object, std::string_view name) {
  for (const XmlElement& child : object.children) {
    if (child.name == "info" && child["name"] == name) return child["value"];
  }
  return {};
}

int32_t integerAtEnd(std::string_view text) {
  const size_t digits = text.find_last_not_of("0123456789") + 1;
  int32_t value = -1;
  std::from_chars(text.data() + digits, text.data() + text.size(), value);
  return value;
}

class HwlocReader {
 public:
  explicit HwlocReader(std::string source) : builder_(std::move(source)) {}

  Result<Topology> read(const XmlElement& topology) {
    for (const XmlElement& child : topology.children) {
      if (child.name != "object") continue;
      builder_[builder_.machine()].name = info(child, "HostName");
      numaNodes(child);
      object(child, builder_.machine(), 0);
    }
    for (const XmlElement& child : topology.children) {
      if (child.name.starts_with("distances2")) distances(child);
    }
    return builder_.finish();
  }

 private:
  /// NUMA nodes come first: what is beside them refers to them by number.
  void numaNodes(const XmlElement& object) {
    // On some machines the memory of a GPU is a NUMA node.
    if (object["type"] == "NUMANode" && object["subtype"] != "GPUMemory") {
      const NodeIndex node = builder_.add(NodeKind::kNuma, builder_.machine());
      builder_[node].number = integerAtEnd(object["os_index"]);
      builder_[node].cpus = cpuList(object["cpuset"]);
      builder_[node].memory_bytes =
          std::strtoull(std::string(object["local_memory"]).c_str(), nullptr, 10);
      numa_.emplace(builder_[node].number, node);
      remember(object, node);
    }
    for (const XmlElement& child : object.children) {
      if (child.name == "object") numaNodes(child);
    }
  }

  void remember(const XmlElement& object, NodeIndex node) {
    by_id_.emplace(std::string(object["gp_index"]), node);
  }

  /// The one NUMA node beside an object, if it is one.
  NodeIndex besides(const XmlElement& object, NodeIndex otherwise) const {
    const std::string list = cpuList(object["nodeset"]);
    int32_t only = -1;
    const auto [end, error] = std::from_chars(list.data(), list.data() + list.size(), only);
    if (error != std::errc() || end != list.data() + list.size()) return otherwise;
    const auto it = numa_.find(only);
    return it != numa_.end() ? it->second : otherwise;
  }

  /// `bridges`: how many PCI bridges are between the host bridge and the object.
  void object(const XmlElement& element, NodeIndex parent, int bridges) {
    const std::string_view type = element["type"];
    NodeIndex here = parent;
    if (type == "Bridge") {
      if (element["bridge_type"].starts_with("0-")) {
        here = builder_.add(NodeKind::kHostBridge, parent);
        builder_[here].name = element["bridge_pci"];
        bridges = 0;
      } else if (++bridges % 2 == 0) {  // the upper port of a switch
        here = builder_.add(NodeKind::kPciSwitch, parent);
        pciOf(element, here);
      }
    } else if (type == "PCIDev") {
      here = device(element, parent);
    } else if (type == "OSDev") {
      systemDevice(element, parent);
    } else if (type != "NUMANode") {
      here = besides(element, parent);
      remember(element, here);
    }
    for (const XmlElement& child : element.children) {
      if (child.name == "object") object(child, here, bridges);
    }
  }

  void pciOf(const XmlElement& element, NodeIndex node) {
    Node& n = builder_[node];
    n.pci = pciAddress(element["pci_busid"]);
    const double rate = numberAtStart(element["pci_link_speed"]);
    n.uplink_type = LinkType::kPcie;
    if (rate > 0 && rate < 1000) {
      n.uplink_gbps = rate;
      n.uplink = fmt::format("PCIe {:.1f} GB/s", rate);
    } else if (rate != 0) {
      builder_.problem(fmt::format("{}: {} GB/s is no rate of PCIe",
                                   builder_.topology().label(node), element["pci_link_speed"]));
    }
    remember(element, node);
  }

  NodeIndex device(const XmlElement& element, NodeIndex parent) {
    // "0302 [10de:1db8] [10de:131d] a1"
    const std::string_view type = element["pci_type"];
    const std::string pci_class = "0x" + std::string(type.substr(0, 4));
    const size_t bracket = type.find('[');
    const std::string vendor =
        bracket != std::string_view::npos ? "0x" + std::string(type.substr(bracket + 1, 4)) : "";
    NodeKind kind = NodeKind::kMachine;
    if (isGpu(pci_class, vendor)) kind = NodeKind::kGpu;
    if (pci_class == "0x0200" || pci_class == "0x0207") kind = NodeKind::kNic;
    // The system may know no class of it.
    const bool is_bridge = pci_class == "0x0680" && vendor == "0x10de";
    if (is_bridge || element["subtype"] == "NVSwitch") kind = NodeKind::kNvSwitch;
    if (kind == NodeKind::kMachine) return parent;  // a disk and the like
    const NodeIndex node = builder_.add(kind, parent);
    pciOf(element, node);
    builder_[node].vendor = pciVendor(vendor);
    return node;
  }

  /// What the system calls a device: "nvml0", "cuda0", "mlx5_0", "eth0".
  void systemDevice(const XmlElement& element, NodeIndex device) {
    remember(element, device);
    const std::string_view name = element["name"];
    Node& n = builder_[device];
    if (n.kind == NodeKind::kGpu) {
      if (name.starts_with("nvml") || name.starts_with("rsmi") ||
          (name.starts_with("cuda") && n.number < 0)) {
        n.number = integerAtEnd(name);
      }
      if (const auto model = info(element, "GPUModel"); !model.empty()) n.name = model;
      if (const auto kib = info(element, "CUDAGlobalMemorySize"); !kib.empty()) {
        n.memory_bytes = std::strtoull(std::string(kib).c_str(), nullptr, 10) * 1024;
      }
    } else if (n.kind == NodeKind::kNic && (n.name.empty() || !info(element, "NodeGUID").empty())) {
      n.name = name;  // that of InfiniBand before that of the network
    }
  }

  /// A table of bandwidths in MB/s between GPUs, their switches and processors.
  void distances(const XmlElement& table) {
    const std::string_view name = table["name"];
    if (name != "NVLinkBandwidth" && name != "XGMIBandwidth") return;
    std::vector<NodeIndex> objects;
    std::vector<uint64_t> values;
    for (const XmlElement& child : table.children) {
      std::istringstream words(child.text);
      for (std::string word; words >> word && values.size() <= kMostDistances * kMostDistances;) {
        if (child.name == "indexes") {
          const auto it = by_id_.find(word.substr(word.find(':') + 1));
          objects.push_back(it != by_id_.end() ? it->second : kNoNode);
          if (it == by_id_.end()) {
            builder_.problem(
                fmt::format("the table {} has {}, which is not in the file", name, word));
          }
        } else if (child.name == "u64values") {
          values.push_back(std::strtoull(word.c_str(), nullptr, 10));
        }
      }
    }
    if (objects.size() > kMostDistances || values.size() != objects.size() * objects.size()) {
      return builder_.problem(fmt::format("line {}: the table {} has {} objects and {} values",
                                          table.line, name, objects.size(), values.size()));
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const NodeIndex from = objects[i / objects.size()], to = objects[i % objects.size()];
      if (values[i] == 0 || i / objects.size() == i % objects.size()) continue;
      if (from == kNoNode || to == kNoNode) continue;
      if (values[i] > kMostBandwidth) {
        builder_.problem(fmt::format("{} and {}: {} MB/s is no bandwidth of a link",
                                     builder_.topology().label(from), builder_.topology().label(to),
                                     values[i]));
        continue;
      }
      name == "NVLinkBandwidth"
          ? nvlink(from, to, values[i])
          : builder_.addLink(from, to, LinkType::kXgmi, 1, static_cast<double>(values[i]) / 1000);
    }
  }

  /// The table has the bandwidth of all links of a pair together.
  void nvlink(NodeIndex from, NodeIndex to, uint64_t megabytes) {
    const Node& gpu = builder_[from].kind == NodeKind::kGpu ? builder_[from] : builder_[to];
    const bool is_first = gpu.name.find("P100") != std::string::npos || megabytes % 25'000 != 0;
    const double each = nvlinkBandwidth(is_first ? 1 : 2);
    const double links = static_cast<double>(megabytes) / 1000 / each;
    const bool is_whole = links >= 1 && links == std::floor(links);
    builder_.addLink(from, to, LinkType::kNvLink, is_whole ? static_cast<uint32_t>(links) : 1,
                     is_whole ? each : static_cast<double>(megabytes) / 1000, is_first ? 1 : 0);
  }

  TopologyBuilder builder_;
  std::map<int32_t, NodeIndex> numa_;       // by the system's number
  std::map<std::string, NodeIndex> by_id_;  // by gp_index
};

}  // namespace

Result<Topology> readHwlocXml(const XmlElement& topology) {
  if (numberAtStart(topology["version"]) < 2) {
    return fail(ErrorCode::kUnsupported,
                "is of hwloc 1; lstopo of version 2 or newer writes it anew");
  }
  return HwlocReader(fmt::format("hwloc {}", topology["version"])).read(topology);
}

}  // namespace tracesmith::topology
