// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/topology/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace tracesmith::topology {
namespace {

template <class T>
bool hexadecimal(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

struct PcieRate {
  double transfers;  // GT/s of a lane
  const char* version;
  double bytes_per_transfer;  // 1/8 times the share of the encoding
};
constexpr PcieRate kPcieRates[] = {
    {2.5, "1.0", 0.8 / 8},        {5, "2.0", 0.8 / 8},          {8, "3.0", 128.0 / 130 / 8},
    {16, "4.0", 128.0 / 130 / 8}, {32, "5.0", 128.0 / 130 / 8}, {64, "6.0", 242.0 / 256 / 8},
};
constexpr int kPcieWidths[] = {1, 2, 4, 8, 12, 16, 32};

const PcieRate* pcieRate(double transfers, int width) {
  if (std::find(std::begin(kPcieWidths), std::end(kPcieWidths), width) == std::end(kPcieWidths)) {
    return nullptr;
  }
  for (const PcieRate& rate : kPcieRates) {
    if (std::abs(rate.transfers - transfers) < 0.01) return &rate;
  }
  return nullptr;
}

}  // namespace

constexpr std::array<std::string_view, 8> kPathNames = {"self", "direct", "PIX", "PXB",
                                                        "PHB",  "NODE",   "SYS", "unknown"};
std::string_view toString(PathClass path_class) {
  return kPathNames.at(static_cast<size_t>(path_class));
}
std::optional<PathClass> pathClass(std::string_view name) {
  const auto* const it = std::find(kPathNames.begin(), kPathNames.end(), name);
  if (it == kPathNames.end()) return std::nullopt;
  return static_cast<PathClass>(it - kPathNames.begin());
}

std::optional<PciAddress> pciAddress(std::string_view text) {
  PciAddress address;
  const size_t dot = text.rfind('.');
  if (dot == std::string_view::npos || !hexadecimal(text.substr(dot + 1), address.function)) {
    return std::nullopt;
  }
  text = text.substr(0, dot);
  const size_t last = text.rfind(':');
  if (last == std::string_view::npos || !hexadecimal(text.substr(last + 1), address.device)) {
    return std::nullopt;
  }
  text = text.substr(0, last);
  if (const size_t first = text.rfind(':'); first != std::string_view::npos) {
    if (!hexadecimal(text.substr(0, first), address.domain)) return std::nullopt;
    text = text.substr(first + 1);
  }
  if (!hexadecimal(text, address.bus) || address.function > 7) return std::nullopt;
  return address;
}

std::string toString(const PciAddress& a) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", a.domain, a.bus, a.device, a.function);
}

std::vector<NodeIndex> Topology::ofKind(NodeKind kind) const {
  std::vector<NodeIndex> found;
  for (NodeIndex i = 0; i < nodes.size(); ++i) {
    if (nodes[i].kind == kind) found.push_back(i);
  }
  std::stable_sort(found.begin(), found.end(),
                   [&](NodeIndex a, NodeIndex b) { return nodes[a].number < nodes[b].number; });
  return found;
}

std::vector<NodeIndex> Topology::ancestors(NodeIndex node) const {
  std::vector<NodeIndex> path;
  for (NodeIndex i = node; i != kNoNode; i = nodes[i].parent) path.push_back(i);
  return path;
}

NodeIndex Topology::numaOf(NodeIndex node) const {
  for (const NodeIndex i : ancestors(node)) {
    if (nodes[i].kind == NodeKind::kNuma) return i;
  }
  return kNoNode;
}

std::optional<NodeIndex> Topology::at(const PciAddress& address) const {
  for (NodeIndex i = 0; i < nodes.size(); ++i) {
    if (nodes[i].pci == address) return i;
  }
  return std::nullopt;
}

std::string Topology::label(NodeIndex node) const {
  const Node& n = nodes.at(node);
  const std::string address = n.pci ? toString(*n.pci) : "";
  switch (n.kind) {
    case NodeKind::kGpu:
      return n.number >= 0 ? fmt::format("GPU{}", n.number) : "GPU " + address;
    case NodeKind::kNic:
      return !n.name.empty() ? n.name
             : n.number >= 0 ? fmt::format("NIC{}", n.number)
                             : "NIC " + address;
    case NodeKind::kNuma:
      return n.number >= 0 ? fmt::format("NUMA {}", n.number) : "NUMA";
    case NodeKind::kNvSwitch:
      return n.number >= 0 ? fmt::format("NVSwitch{}", n.number) : "NVSwitch";
    case NodeKind::kHostBridge:
      return n.name.empty() ? "host bridge" : "host bridge " + n.name;
    case NodeKind::kPciSwitch:
      return "switch " + address;
    case NodeKind::kUnknown:
    case NodeKind::kPciDevice:
      return "device " + address;
    case NodeKind::kMachine:
      break;
  }
  return n.name.empty() ? "machine" : n.name;
}

double pcieBandwidth(double transfers, int width) {
  const PcieRate* rate = pcieRate(transfers, width);
  return rate != nullptr ? rate->transfers * rate->bytes_per_transfer * width : 0;
}

std::string pcieName(double transfers, int width) {
  const PcieRate* rate = pcieRate(transfers, width);
  return rate != nullptr ? fmt::format("PCIe {} x{}", rate->version, width) : "";
}

double nvlinkBandwidth(int generation) {
  constexpr std::array<double, 6> kRates = {0, 20, 25, 25, 25, 50};
  return generation > 0 && generation < 6 ? kRates.at(static_cast<size_t>(generation)) : 0;
}

int nvlinkGeneration(int compute_capability) {
  switch (compute_capability / 10) {
    case 6:
      return 1;
    case 7:
      return 2;
    case 8:
      return compute_capability == 80 ? 3 : 0;  // those of 8.6 are slower
    case 9:
      return 4;
    case 10:
      return 5;
    default:
      return 0;
  }
}

double xgmiBandwidth(std::string_view processor) {
  if (processor.starts_with("gfx")) processor.remove_prefix(3);
  // Half of what AMD's data sheets give for both directions of one link.
  constexpr std::pair<std::string_view, double> kRates[] = {{"906", 46}, {"908", 46},  {"910", 50},
                                                            {"90a", 50}, {"940", 64},  {"941", 64},
                                                            {"942", 64}, {"950", 76.8}};
  for (const auto& [name, rate] : kRates) {
    if (name == processor) return rate;
  }
  return 0;
}

std::string_view pciVendor(std::string_view id) {
  constexpr std::pair<std::string_view, std::string_view> kVendors[] = {
      {"0x10de", "NVIDIA"},   {"0x1002", "AMD"},         {"0x8086", "Intel"},
      {"0x15b3", "Mellanox"}, {"0x14e4", "Broadcom"},    {"0x9999", "MetaX"},
      {"0x19e5", "Huawei"},   {"0x1d0f", "Amazon"},      {"0x17cb", "Qualcomm"},
      {"0x1af4", "Red Hat"},  {"0x1dd8", "AMD Pensando"}};
  for (const auto& [number, name] : kVendors) {
    if (number == id) return name;
  }
  return {};
}

bool isGpu(std::string_view pci_class, std::string_view vendor) {
  // 0x0300: VGA (often the server's own screen), 0x0302: 3D, 0x0380: display, 0x1200: accelerator.
  constexpr std::string_view kClasses[] = {"0x0300", "0x0302", "0x0380", "0x1200"};
  const auto begins = [&](std::string_view each) { return pci_class.starts_with(each); };
  if (!std::any_of(std::begin(kClasses), std::end(kClasses), begins)) return false;
  const std::string_view name = pciVendor(vendor);
  return vendor.empty() || name == "NVIDIA" || name == "AMD" || name == "MetaX" ||
         (name == "Intel" && begins("0x0380"));
}

}  // namespace tracesmith::topology
