// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cluster/gpu_topology.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "tracesmith/capture/devices/machine_topology.hpp"
#include "tracesmith/export/topology/topology_text.hpp"
#include "tracesmith/topology/routes.hpp"
#include "tracesmith/topology/topology_readers.hpp"

namespace tracesmith {

using topology::LinkType;
using topology::NodeIndex;
using topology::NodeKind;
using topology::PathClass;

namespace {

GPULinkType nvlinkType(int generation) {
  switch (generation) {
    case 1:
      return GPULinkType::NVLink1;
    case 2:
      return GPULinkType::NVLink2;
    case 3:
      return GPULinkType::NVLink3;
    case 4:
      return GPULinkType::NVLink4;
    case 5:
      return GPULinkType::NVLink5;
    default:
      return GPULinkType::NVLink;
  }
}

GPUVendor vendorOf(const std::string& name) {
  if (name == "NVIDIA") return GPUVendor::NVIDIA;
  if (name == "AMD") return GPUVendor::AMD;
  return name == "MetaX" ? GPUVendor::MetaX : GPUVendor::Unknown;
}

}  // namespace

std::string_view linkTypeToString(GPULinkType type) {
  constexpr std::array<std::string_view, 13> kNames = {
      "None",    "PCIe",    "NVLink1",  "NVLink2", "NVLink3", "NVLink4", "NVSwitch",
      "MXLink1", "MXLink2", "MXSwitch", "NVLink5", "NVLink",  "XGMI"};
  const auto place = static_cast<size_t>(type);
  return place < kNames.size() ? kNames.at(place) : "None";
}

double getLinkBandwidth(GPULinkType type) {
  switch (type) {
    case GPULinkType::NVLink1:
      return topology::nvlinkBandwidth(1);
    case GPULinkType::NVLink2:
      return topology::nvlinkBandwidth(2);
    case GPULinkType::NVLink3:
      return topology::nvlinkBandwidth(3);
    case GPULinkType::NVLink4:
      return topology::nvlinkBandwidth(4);
    case GPULinkType::NVLink5:
      return topology::nvlinkBandwidth(5);
    default:
      return 0;
  }
}

struct GPUTopology::Machine {
  explicit Machine(topology::Topology read)
      : topology(std::move(read)), routes(topology), gpus(topology.ofKind(NodeKind::kGpu)) {}
  Machine(const Machine&) = delete;

  topology::Topology topology;
  topology::Routes routes;
  std::vector<NodeIndex> gpus;  // by gpu_id
};

GPUTopology::GPUTopology() : machine_(std::make_shared<const Machine>(topology::Topology())) {}

const std::vector<std::string>& GPUTopology::problems() const {
  return machine_->topology.problems;
}

bool GPUTopology::discover() {
  *this = GPUTopology();
  auto found = machineTopology();
  if (!found) {
    topology::Topology nothing;
    nothing.problems.push_back(found.error().toString());
    machine_ = std::make_shared<const Machine>(std::move(nothing));
    return false;
  }
  take(std::make_shared<const Machine>(std::move(*found)));
  return info_.gpu_count > 0;
}

Status GPUTopology::read(const std::string& path) {
  TS_TRY(topology::Topology read, topology::readTopology(path));
  *this = GPUTopology();
  take(std::make_shared<const Machine>(std::move(read)));
  return {};
}

void GPUTopology::take(std::shared_ptr<const Machine> machine) {
  machine_ = std::move(machine);
  const topology::Topology& topology = machine_->topology;
  const std::vector<NodeIndex>& gpus = machine_->gpus;
  info_.gpu_count = static_cast<uint32_t>(gpus.size());
  info_.has_nvswitch = !topology.ofKind(NodeKind::kNvSwitch).empty();
  for (uint32_t gpu = 0; gpu < gpus.size(); ++gpu) {
    const topology::Node& node = topology.nodes[gpus[gpu]];
    const NodeIndex numa = topology.numaOf(gpus[gpu]);
    GPUDeviceTopology& device = info_.devices.emplace_back();
    device.gpu_id = gpu;
    device.name = node.name;
    if (node.pci) device.pci_bus_id = topology::toString(*node.pci);
    if (numa != topology::kNoNode) device.numa_node = topology.nodes[numa].number;
    device.vendor = vendorOf(node.vendor);
    for (const topology::Fabric& fabric : machine_->routes.fabricsOf(gpus[gpu])) {
      if (fabric.type == LinkType::kNvLink) device.nvlink_count = fabric.links;
      if (fabric.type == LinkType::kMxLink) device.mxlink_count = fabric.links;
    }
    device.has_nvlink = device.nvlink_count > 0;
    device.has_mxlink = device.mxlink_count > 0;
    device.compute_major = static_cast<uint32_t>(node.compute_capability / 10);
    device.compute_minor = static_cast<uint32_t>(node.compute_capability % 10);
    device.total_memory = node.memory_bytes;
  }
  info_.link_matrix.assign(gpus.size(), std::vector(gpus.size(), GPULinkType::None));
  for (uint32_t a = 0; a < gpus.size(); ++a) {
    for (uint32_t b = a + 1; b < gpus.size(); ++b) {
      const GPULink link = linkBetween(a, b);
      info_.link_matrix[a][b] = info_.link_matrix[b][a] = link.type;
      if (link.type != GPULinkType::None) info_.links.push_back(link);
    }
  }
  discovered_ = true;
}

GPULink GPUTopology::linkBetween(uint32_t a, uint32_t b) const {
  GPULink link;
  link.gpu_a = a;
  link.gpu_b = b;
  const topology::Path path = machine_->routes.between(machine_->gpus[a], machine_->gpus[b]);
  link.bandwidth_gbps = path.gbps;
  if (path.path_class == PathClass::kUnknown) return link;
  if (path.path_class != PathClass::kDirect) {
    link.type = GPULinkType::PCIe;
    link.link_count = 1;
    return link;
  }
  link.link_count = path.links;
  switch (path.type) {
    case LinkType::kNvLink:
      link.type = path.is_switched ? GPULinkType::NVSwitch : nvlinkType(path.generation);
      break;
    case LinkType::kMxLink:
      link.type = path.is_switched ? GPULinkType::MXSwitch : GPULinkType::MXLink1;
      break;
    case LinkType::kXgmi:
      link.type = GPULinkType::XGMI;
      break;
    default:
      link.type = GPULinkType::None;
  }
  return link;
}

GPULinkType GPUTopology::getLinkType(uint32_t gpu_a, uint32_t gpu_b) const {
  if (gpu_a >= info_.gpu_count || gpu_b >= info_.gpu_count) return GPULinkType::None;
  return info_.link_matrix[gpu_a][gpu_b];
}

double GPUTopology::getBandwidth(uint32_t gpu_a, uint32_t gpu_b) const {
  if (gpu_a >= info_.gpu_count || gpu_b >= info_.gpu_count || gpu_a == gpu_b) return 0;
  return linkBetween(gpu_a, gpu_b).bandwidth_gbps;
}

bool GPUTopology::canAccessPeer(uint32_t gpu_a, uint32_t gpu_b) const {
  if (gpu_a >= info_.gpu_count || gpu_b >= info_.gpu_count || gpu_a == gpu_b) return false;
  return machine_->routes.between(machine_->gpus[gpu_a], machine_->gpus[gpu_b]).path_class <=
         PathClass::kPxb;
}

uint32_t GPUTopology::getNVLinkCount(uint32_t gpu_a, uint32_t gpu_b) const {
  if (gpu_a >= info_.gpu_count || gpu_b >= info_.gpu_count || gpu_a == gpu_b) return 0;
  const topology::Path path =
      machine_->routes.between(machine_->gpus[gpu_a], machine_->gpus[gpu_b]);
  return path.type == LinkType::kNvLink ? path.links : 0;
}

bool GPUTopology::isDirectlyConnected(uint32_t gpu_a, uint32_t gpu_b) const {
  const GPULinkType type = getLinkType(gpu_a, gpu_b);
  return type != GPULinkType::None && type != GPULinkType::PCIe;
}

std::vector<uint32_t> GPUTopology::getConnectedGPUs(uint32_t gpu) const {
  std::vector<uint32_t> found;
  for (uint32_t other = 0; other < info_.gpu_count; ++other) {
    if (isDirectlyConnected(gpu, other)) found.push_back(other);
  }
  return found;
}

std::optional<GPUDeviceTopology> GPUTopology::getDeviceInfo(uint32_t gpu) const {
  if (gpu >= info_.gpu_count) return std::nullopt;
  return info_.devices[gpu];
}

std::vector<uint32_t> GPUTopology::getOptimalPath(uint32_t gpu_a, uint32_t gpu_b) const {
  if (gpu_a >= info_.gpu_count || gpu_b >= info_.gpu_count) return {};
  if (gpu_a == gpu_b) return {gpu_a};
  constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  struct Reached {
    uint32_t steps = kNone;
    double width = 0;  // of the narrowest part
    uint32_t before = kNone;
  };
  std::vector<Reached> reached(info_.gpu_count);
  reached[gpu_a] = {0, std::numeric_limits<double>::infinity(), kNone};
  std::vector<uint32_t> edge = {gpu_a};  // reached with as many steps
  for (uint32_t steps = 1; !edge.empty() && reached[gpu_b].steps == kNone; ++steps) {
    std::vector<uint32_t> next;
    for (const uint32_t from : edge) {
      for (const uint32_t to : getConnectedGPUs(from)) {
        const double width = std::min(reached[from].width, getBandwidth(from, to));
        Reached& there = reached[to];
        if (there.steps == kNone) next.push_back(to);
        if (there.steps == kNone || (there.steps == steps && width > there.width)) {
          there = {steps, width, from};
        }
      }
    }
    edge = std::move(next);
  }
  if (reached[gpu_b].steps == kNone) return {gpu_a, gpu_b};
  std::vector<uint32_t> path;
  for (uint32_t gpu = gpu_b; gpu != kNone; gpu = reached[gpu].before) path.push_back(gpu);
  std::reverse(path.begin(), path.end());
  return path;
}

std::optional<uint64_t> GPUTopology::estimateTransferTime(uint32_t gpu_a, uint32_t gpu_b,
                                                          uint64_t bytes) const {
  const double gbps = getBandwidth(gpu_a, gpu_b);  // GB/s are bytes per ns
  if (gbps <= 0) return std::nullopt;
  return static_cast<uint64_t>(std::ceil(static_cast<double>(bytes) / gbps));
}

std::string GPUTopology::toASCII() const {
  return discovered_ ? topology::asText(machine_->topology, {.utf8 = false}) : "";
}
std::string GPUTopology::toGraphviz() const { return topology::asDot(machine_->topology); }
std::string GPUTopology::toJSON() const {
  std::string text;
  Output out = Output::toString(&text);
  JsonWriter json(out, 2);
  topology::writeJson(json, machine_->topology);
  (void)out.finish();  // into memory
  return text;
}
void GPUTopology::printSummary() const { std::fputs(toASCII().c_str(), stdout); }

}  // namespace tracesmith
