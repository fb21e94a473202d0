// SPDX-License-Identifier: Apache-2.0
// How the GPUs of this machine are connected, GPU by GPU. docs/cluster.md says where the facts are
// from; `tracesmith topology` shows more of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// The best connection of two GPUs. NVSwitch and MXSwitch: links of the kind, through switches.
enum class GPULinkType : uint8_t {
  None,  ///< not known
  PCIe,  ///< also across processors
  NVLink1,
  NVLink2,
  NVLink3,
  NVLink4,
  NVSwitch,
  MXLink1,
  MXLink2,
  MXSwitch,
  NVLink5,
  NVLink,  ///< of a generation that is not known
  XGMI,    ///< AMD Infinity Fabric
};
std::string_view linkTypeToString(GPULinkType type);
/// Nominal rate of one link per direction in GB/s; 0 where it is not known or differs between GPUs
/// of a kind.
double getLinkBandwidth(GPULinkType type);

enum class GPUVendor : uint8_t { Unknown, NVIDIA, AMD, MetaX, Apple };

struct GPULink {
  uint32_t gpu_a = 0;
  uint32_t gpu_b = 0;
  GPULinkType type = GPULinkType::None;
  uint32_t link_count = 0;    ///< in parallel; 1 for PCIe
  double bandwidth_gbps = 0;  ///< nominal, of all together from gpu_a to gpu_b, in GB/s; 0: unknown
  double measured_bandwidth = 0;  ///< 0: nothing is measured
  bool bidirectional = true;      ///< both directions at the same time
};

struct GPUDeviceTopology {
  uint32_t gpu_id = 0;  ///< from 0, in the order of the management library, else of PCI addresses
  std::string name;
  std::string pci_bus_id;
  int32_t numa_node = -1;  ///< -1: unknown
  GPUVendor vendor = GPUVendor::Unknown;
  bool has_nvlink = false;
  uint32_t nvlink_count = 0;  ///< to other GPUs, switches and processors
  bool has_mxlink = false;
  uint32_t mxlink_count = 0;
  uint64_t total_memory = 0;   ///< bytes; 0: unknown
  uint32_t compute_major = 0;  ///< of an NVIDIA GPU; 0: unknown
  uint32_t compute_minor = 0;
};

struct GPUTopologyInfo {
  uint32_t gpu_count = 0;
  bool has_nvswitch = false;
  std::vector<GPUDeviceTopology> devices;
  std::vector<GPULink> links;  ///< each pair once, gpu_a < gpu_b; None is left out
  std::vector<std::vector<GPULinkType>> link_matrix;  ///< by gpu_id
};

/// A GPU that does not exist has no connections. Not thread-safe.
class GPUTopology {
 public:
  GPUTopology();
  /// Looks at this machine. False if there is no GPU, or nothing could be read; see problems().
  bool discover();
  /// Reads a file, or a folder with a copy of /sys, as `tracesmith topology --from` does.
  Status read(const std::string& path);
  bool isDiscovered() const { return discovered_; }
  /// What contradicts itself or could not be read, as sentences.
  const std::vector<std::string>& problems() const;

  const GPUTopologyInfo& getTopology() const { return info_; }
  uint32_t getGPUCount() const { return info_.gpu_count; }
  GPULinkType getLinkType(uint32_t gpu_a, uint32_t gpu_b) const;
  /// From gpu_a to gpu_b in GB/s, nominal: an upper limit; 0: unknown.
  double getBandwidth(uint32_t gpu_a, uint32_t gpu_b) const;
  /// Whether links of their own or PCIe switches alone connect them. A driver may allow more than
  /// that, or forbid it: cuDeviceCanAccessPeer() answers for CUDA.
  bool canAccessPeer(uint32_t gpu_a, uint32_t gpu_b) const;
  /// NVLinks that carry data between the two at the same time.
  uint32_t getNVLinkCount(uint32_t gpu_a, uint32_t gpu_b) const;
  /// Whether links of their own connect them, also through switches.
  bool isDirectlyConnected(uint32_t gpu_a, uint32_t gpu_b) const;
  /// The GPUs to which links of its own lead.
  std::vector<uint32_t> getConnectedGPUs(uint32_t gpu) const;
  std::optional<GPUDeviceTopology> getDeviceInfo(uint32_t gpu) const;
  /// The GPUs on the way, both ends included: the fewest that are directly connected, of these the
  /// way with the widest narrowest part; without links {gpu_a, gpu_b}. Empty if a GPU does not
  /// exist.
  std::vector<uint32_t> getOptimalPath(uint32_t gpu_a, uint32_t gpu_b) const;
  /// bytes / getBandwidth() in ns: a lower limit, without any latency; nullopt if the rate is
  /// unknown.
  std::optional<uint64_t> estimateTransferTime(uint32_t gpu_a, uint32_t gpu_b,
                                               uint64_t bytes) const;

  /// What `tracesmith topology` prints.
  std::string toASCII() const;
  std::string toGraphviz() const;
  std::string toJSON() const;
  /// toASCII() on standard output.
  void printSummary() const;

 private:
  struct Machine;
  void take(std::shared_ptr<const Machine> machine);
  GPULink linkBetween(uint32_t a, uint32_t b) const;

  bool discovered_ = false;
  std::shared_ptr<const Machine> machine_;  // never null
  GPUTopologyInfo info_;
};

}  // namespace tracesmith
