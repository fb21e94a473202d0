// SPDX-License-Identifier: Apache-2.0
// What Linux says in /sys about PCI devices, NUMA nodes and AMD's GPUs (KFD), and in /proc about
// NVIDIA's. Links between GPUs are there for AMD's alone.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "tracesmith/base/files/file_text.hpp"
#include "tracesmith/topology/text_numbers.hpp"
#include "tracesmith/topology/topology_builder.hpp"
#include "tracesmith/topology/topology_readers.hpp"

namespace tracesmith::topology {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostText = 1u << 16;  // bytes of one file

/// The first line of a small file; empty if there is none.
std::string line(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};  // a pipe would be waited for
  std::string text = readFileText(path.string(), kMostText).value_or("");
  text.erase(std::min(text.find('\n'), text.size()));
  return text;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    found.push_back(it->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

struct Function {
  PciAddress address;
  fs::path folder;
  std::string pci_class, vendor;
  std::vector<PciAddress> bridges;  // the nearest first
  std::string host_bridge;          // "pci0000:00"; empty if unknown
  double transfers = 0;             // GT/s of a lane, at best
  int width = 0;
};

class SysfsReader {
 public:
  explicit SysfsReader(fs::path root) : root_(std::move(root)) {}

  Result<Topology> read() {
    std::error_code error;
    if (!fs::is_directory(root_ / "sys", error)) {
      return fail(ErrorCode::kNotFound, "has no folder 'sys', as the root of a Linux system has",
                  root_.string());
    }
    numaNodes();
    functions();
    for (auto& [address, function] : functions_) device(function);
    amdGpus();
    return builder_.finish();
  }

 private:
  void numaNodes() {
    for (const fs::path& folder : entries(root_ / "sys/devices/system/node")) {
      const std::string name = folder.filename().string();
      const auto number =
          name.starts_with("node") ? smallInteger(std::string_view(name).substr(4)) : std::nullopt;
      if (!number) continue;
      const std::string cpus = line(folder / "cpulist");
      if (cpus.empty()) continue;  // memory without processors, as that of a GPU
      const NodeIndex node = builder_.add(NodeKind::kNuma, builder_.machine());
      builder_[node].number = *number;
      builder_[node].cpus = cpus;
      by_cpus_.emplace(cpuList(line(folder / "cpumap")), node);
      numa_.emplace(*number, node);
    }
  }

  void functions() {
    for (const fs::path& folder : entries(root_ / "sys/bus/pci/devices")) {
      const auto address = pciAddress(folder.filename().string());
      if (!address) continue;
      Function f;
      f.address = *address;
      f.folder = folder;
      f.pci_class = line(folder / "class");
      f.vendor = line(folder / "vendor");
      // GPUs lower the current rate while they are idle.
      f.transfers = numberAtStart(line(folder / "max_link_speed"));
      f.width = smallInteger(line(folder / "max_link_width")).value_or(0);
      std::error_code error;
      if (fs::is_symlink(folder / "physfn", error))
        continue;  // one of many that stand for one device
      const fs::path target = fs::read_symlink(folder, error);
      if (!error) {
        for (const fs::path& part : target.parent_path()) {
          if (const auto bridge = pciAddress(part.string())) {
            f.bridges.insert(f.bridges.begin(), *bridge);
          } else if (part.string().starts_with("pci")) {  // one may be behind a device (Intel VMD)
            f.host_bridge = part.string();
            f.bridges.clear();
          }
        }
      }
      functions_.emplace(*address, std::move(f));
    }
  }

  NodeIndex numaOf(const Function& f) {
    if (const auto number = integer(line(f.folder / "numa_node")); number && *number >= 0) {
      if (const auto it = numa_.find(*number); it != numa_.end()) return it->second;
      builder_.problem(fmt::format("{} is beside NUMA node {}, which is not there",
                                   toString(f.address), *number));
    }
    const auto it = by_cpus_.find(cpuList(line(f.folder / "local_cpus")));
    if (it != by_cpus_.end() && !it->first.empty()) return it->second;
    return numa_.size() == 1 ? numa_.begin()->second : builder_.machine();
  }

  /// The nearest switch or host bridge above the bridge `level` of a function, counted from the
  /// function; made when it is the first below it.
  NodeIndex parentOf(const Function& f, size_t level = 0) {
    if (f.host_bridge.empty()) return numaOf(f);
    if (f.bridges.size() < level + 2) {  // a root port at most
      auto it = host_bridges_.find(f.host_bridge);
      if (it == host_bridges_.end()) {
        const NodeIndex node = builder_.add(NodeKind::kHostBridge, numaOf(f));
        builder_[node].name = f.host_bridge.substr(3);
        it = host_bridges_.emplace(f.host_bridge, node).first;
      }
      return it->second;
    }
    // The lower port of a switch, then its upper port.
    const PciAddress upper = f.bridges[level + 1];
    if (const auto known = switches_.find(upper); known != switches_.end()) return known->second;
    const NodeIndex parent = parentOf(f, level + 2);
    const NodeIndex node = builder_.add(NodeKind::kPciSwitch, parent);
    builder_[node].pci = upper;
    if (const auto port = functions_.find(upper); port != functions_.end())
      setUplink(node, port->second);
    switches_.emplace(upper, node);
    return node;
  }

  /// At the slower of both ends.
  void setUplink(NodeIndex node, const Function& f) {
    double transfers = f.transfers;
    int width = f.width;
    const auto port = f.bridges.empty() ? functions_.end() : functions_.find(f.bridges[0]);
    if (port != functions_.end() && port->second.transfers > 0 && port->second.width > 0) {
      transfers = std::min(transfers, port->second.transfers);
      width = std::min(width, port->second.width);
    }
    // A width of 255 says that it is not known.
    builder_.setPcieUplink(node, transfers, width == 255 ? 0 : width);
  }

  void device(const Function& f) {
    NodeKind kind = NodeKind::kMachine;
    if (isGpu(f.pci_class, f.vendor)) kind = NodeKind::kGpu;
    if (f.pci_class.starts_with("0x0200") || f.pci_class.starts_with("0x0207"))
      kind = NodeKind::kNic;
    if (f.pci_class.starts_with("0x0680") && f.vendor == "0x10de") kind = NodeKind::kNvSwitch;
    if (kind == NodeKind::kMachine) return;
    const NodeIndex parent = parentOf(f);
    const NodeIndex node = builder_.add(kind, parent);
    Node& n = builder_[node];
    n.pci = f.address;
    n.vendor = pciVendor(f.vendor);
    setUplink(node, f);
    if (kind == NodeKind::kNic) adapter(f, node);
    if (kind == NodeKind::kGpu && n.vendor == "NVIDIA") nvidiaModel(f, node);
  }

  void adapter(const Function& f, NodeIndex node) {
    Node& n = builder_[node];
    for (const fs::path& name : entries(f.folder / "infiniband")) {
      n.name = name.filename().string();
      for (const fs::path& port : entries(name / "ports")) {  // "400 Gb/sec (4X NDR)"
        n.network_gbps += numberAtStart(line(port / "rate")) / 8;
      }
    }
    for (const fs::path& name : entries(f.folder / "net")) {
      if (n.name.empty()) n.name = name.filename().string();
      const auto speed = integer(line(name / "speed"));  // Mb/s; -1 without a cable
      if (n.network_gbps == 0 && speed && *speed > 0)
        n.network_gbps = static_cast<double>(*speed) / 8000;
    }
  }

  void nvidiaModel(const Function& f, NodeIndex node) {
    const fs::path file = root_ / "proc/driver/nvidia/gpus" / toString(f.address) / "information";
    std::istringstream in(readFileText(file.string(), kMostText).value_or(""));
    for (std::string text; std::getline(in, text);) {
      if (!text.starts_with("Model:")) continue;
      const size_t from = text.find_first_not_of(" \t", 6);
      if (from != std::string::npos) builder_[node].name = text.substr(from);
    }
  }

  static std::map<std::string, uint64_t> properties(const fs::path& file) {
    std::istringstream in(readFileText(file.string(), kMostText).value_or(""));
    std::map<std::string, uint64_t> found;
    uint64_t value = 0;
    for (std::string name; in >> name >> value;) found[name] = value;
    return found;
  }

  /// KFD numbers processors and GPUs alike; io_links of type 11 are Infinity Fabric
  /// (drivers/gpu/drm/amd/amdkfd/kfd_crat.h).
  void amdGpus() {
    constexpr uint64_t kXgmi = 11;
    std::map<uint64_t, NodeIndex> gpus;
    const std::vector<fs::path> folders = entries(root_ / "sys/class/kfd/kfd/topology/nodes");
    for (const fs::path& folder : folders) {
      auto values = properties(folder / "properties");
      const auto number = integer(folder.filename().string());
      if (!number || values["simd_count"] == 0) continue;
      const uint64_t location = values["location_id"];
      const PciAddress address{
          static_cast<uint32_t>(values["domain"]), static_cast<uint8_t>(location >> 8),
          static_cast<uint8_t>(location >> 3 & 31), static_cast<uint8_t>(location & 7)};
      const auto known = builder_.topology().at(address);
      const NodeIndex node = known ? *known : builder_.add(NodeKind::kGpu, builder_.machine());
      Node& n = builder_[node];
      n.pci = address;
      n.vendor = "AMD";
      if (const uint64_t version = values["gfx_target_version"]; version != 0) {
        n.name = fmt::format("gfx{}{:x}{:x}", version / 10'000, version / 100 % 100, version % 100);
      }
      gpus.emplace(static_cast<uint64_t>(*number), node);
    }
    for (const fs::path& folder : folders) {
      for (const fs::path& link : entries(folder / "io_links")) {
        auto values = properties(link / "properties");
        if (values["type"] != kXgmi) continue;
        const auto from = gpus.find(values["node_from"]), to = gpus.find(values["node_to"]);
        if (from == gpus.end()) continue;  // between processors
        if (to == gpus.end()) {
          builder_.problem(fmt::format("{}: a link to node {}, which is no GPU",
                                       builder_.topology().label(from->second), values["node_to"]));
          continue;
        }
        const double stated = static_cast<double>(values["max_bandwidth"]) / 1000;  // MB/s
        builder_.addLink(from->second, to->second, LinkType::kXgmi, 1,
                         stated > 0 ? stated : xgmiBandwidth(builder_[from->second].name));
      }
    }
  }

  fs::path root_;
  TopologyBuilder builder_{"the kernel (sysfs)"};
  std::map<int64_t, NodeIndex> numa_;
  std::map<std::string, NodeIndex> by_cpus_;
  std::map<PciAddress, Function> functions_;
  std::map<std::string, NodeIndex> host_bridges_;
  std::map<PciAddress, NodeIndex> switches_;
};

}  // namespace

Result<Topology> readSysfs(const std::string& root) { return SysfsReader(root).read(); }

}  // namespace tracesmith::topology
