// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/devices/machine_topology.hpp"

#include <fmt/format.h>

#include <map>

#include "tracesmith/capture/devices/nvml_gpus.hpp"
#include "tracesmith/topology/topology_builder.hpp"
#include "tracesmith/topology/topology_readers.hpp"

namespace tracesmith::topology {
namespace {

/// Adds what NVML knows to what the kernel said.
class WithNvml {
 public:
  WithNvml(Topology kernel, const NvmlReport& nvml) : builder_(std::move(kernel)) {
    if (!nvml.problem.empty()) builder_.problem(nvml.problem);
    // CUDA counts as NVML does; GPUs that are not visible to it come after.
    for (const NodeIndex gpu : builder_.topology().ofKind(NodeKind::kGpu)) {
      builder_[gpu].number = -1;
    }
    for (const NvmlGpu& gpu : nvml.gpus) nodes_.emplace(gpu.address, describe(gpu));
    for (const NvmlGpu& gpu : nvml.gpus) linksOf(gpu);
  }
  Topology joined() {
    for (const NodeIndex gpu : builder_.topology().ofKind(NodeKind::kGpu)) {
      const Node& node = builder_[gpu];
      if (node.number < 0 && node.vendor == "NVIDIA") {
        builder_.problem(fmt::format("{} is not visible to NVML: its links are not known",
                                     builder_.topology().label(gpu)));
      }
    }
    return builder_.joined();
  }

 private:
  NodeIndex describe(const NvmlGpu& gpu) {
    const auto known = builder_.topology().at(gpu.address);
    const NodeIndex node = known ? *known : builder_.add(NodeKind::kGpu, builder_.machine());
    Node& n = builder_[node];
    n.pci = gpu.address;
    n.vendor = "NVIDIA";
    n.number = gpu.number;
    n.memory_bytes = gpu.memory_bytes;
    n.compute_capability = gpu.compute_capability;
    n.uuid = gpu.uuid;
    if (!gpu.name.empty()) n.name = gpu.name;
    return node;
  }

  /// The switch at an address, or the one that stands for all where addresses are not known, as in
  /// virtual machines.
  NodeIndex switchAt(const PciAddress& address) {
    const bool is_known = address != PciAddress{} && address.domain != 0xfffffff;
    const auto listed = is_known ? builder_.topology().at(address) : std::nullopt;
    if (listed) return *listed;
    const auto made = switches_.find(address);
    if (made != switches_.end()) return made->second;
    const NodeIndex node = builder_.add(NodeKind::kNvSwitch, builder_.machine());
    builder_[node].number =
        static_cast<int32_t>(builder_.topology().ofKind(NodeKind::kNvSwitch).size()) - 1;
    builder_[node].vendor = "NVIDIA";
    if (is_known) builder_[node].pci = address;
    switches_.emplace(address, node);
    return node;
  }

  void linksOf(const NvmlGpu& gpu) {
    const NodeIndex from = nodes_.at(gpu.address);
    uint32_t unknown = 0;
    for (const NvmlLink& link : gpu.links) {
      const double rate = nvlinkBandwidth(link.generation);
      const auto peer = nodes_.find(link.address);
      const NodeIndex numa = builder_.topology().numaOf(from);
      if (link.remote == NvmlLink::Remote::kSwitch) {
        builder_.addLinkBothWays(from, switchAt(link.address), LinkType::kNvLink, 1, rate,
                                 link.generation);
      } else if (link.remote == NvmlLink::Remote::kProcessor && numa != kNoNode) {
        builder_.addLinkBothWays(from, numa, LinkType::kNvLink, 1, rate, link.generation);
      } else if (peer != nodes_.end() && peer->second != from) {
        builder_.addLink(from, peer->second, LinkType::kNvLink, 1, rate, link.generation);
      } else {
        ++unknown;
      }
    }
    if (unknown > 0) {
      builder_.problem(fmt::format("{}: where {} of its NVLinks lead is not known",
                                   builder_.topology().label(from), unknown));
    }
  }

  TopologyBuilder builder_;
  std::map<PciAddress, NodeIndex> nodes_;
  std::map<PciAddress, NodeIndex> switches_;
};

}  // namespace
}  // namespace tracesmith::topology

namespace tracesmith {

Result<topology::Topology> machineTopology(const TopologyProbe& probe) {
  TS_TRY(topology::Topology kernel, topology::readSysfs(probe.root));
  if (!probe.nvml) return kernel;
  const NvmlReport nvml = nvmlGpus(probe.search_first, probe.timeout_ms);
  if (nvml.gpus.empty()) {
    if (!nvml.problem.empty()) kernel.problems.push_back(nvml.problem);
    return kernel;
  }
  kernel.source += " and NVML";
  return topology::WithNvml(std::move(kernel), nvml).joined();
}

}  // namespace tracesmith
