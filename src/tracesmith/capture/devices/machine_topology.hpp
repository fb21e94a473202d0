// SPDX-License-Identifier: Apache-2.0
// The topology of this machine: what the kernel says, and NVIDIA's management library (NVML).
#pragma once

#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/topology/topology.hpp"

namespace tracesmith {

struct TopologyProbe {
  std::string root = "/";                 ///< of the file system
  bool nvml = true;                       ///< asked in a child process
  int64_t timeout_ms = 10'000;            ///< for NVML
  std::vector<std::string> search_first;  ///< directories that may have NVML
};

/// Without NVML, NVLinks are missing. A library that crashes or hangs costs no more than that, and
/// is named among the problems.
Result<topology::Topology> machineTopology(const TopologyProbe& probe = {});

}  // namespace tracesmith
