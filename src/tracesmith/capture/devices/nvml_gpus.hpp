// SPDX-License-Identifier: Apache-2.0
// GPUs and their NVLinks, from NVIDIA's management library.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/topology/topology.hpp"

namespace tracesmith {

struct NvmlLink {
  enum class Remote : uint8_t { kUnknown, kGpu, kSwitch, kProcessor };
  Remote remote = Remote::kUnknown;
  topology::PciAddress address;  ///< of a GPU or a switch
  int32_t generation = 0;        ///< of NVLink; 0: unknown
};

struct NvmlGpu {
  topology::PciAddress address;
  std::string name;
  std::string uuid;  ///< "GPU-..."; may be empty
  uint64_t memory_bytes = 0;
  int32_t number = -1;
  int32_t compute_capability = 0;  ///< 90 for 9.0; 0: unknown
  std::vector<NvmlLink> links;     ///< those that are active
};

struct NvmlReport {
  std::vector<NvmlGpu> gpus;
  std::string problem;  ///< empty where there is no NVML to ask
};

/// Asks NVML in a child process. `directories` are searched before the system's.
NvmlReport nvmlGpus(const std::vector<std::string>& directories, int64_t timeout_ms);

}  // namespace tracesmith
