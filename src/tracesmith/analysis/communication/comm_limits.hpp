// SPDX-License-Identifier: Apache-2.0
// The highest bandwidth that the connections of a communicator's GPUs allow, if all are in one host
// whose topology is in the trace.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tracesmith/analysis/communication/comm_operations.hpp"
#include "tracesmith/topology/routes.hpp"

namespace tracesmith {

/// What a GPU can send to, and receive from, the other GPUs of a communicator together, by nominal
/// rates, in GB/s: all direct links, once those to switches, once those of PCIe.
struct GpuRates {
  double out_gbps = 0;
  double in_gbps = 0;
  bool is_switched = false;  ///< all routes to the others lead through switches of a fabric
};
/// For each of `gpus`; empty if the rate of a route between two of them is unknown.
std::vector<GpuRates> gpuRates(const topology::Routes& routes,
                               const std::vector<topology::NodeIndex>& gpus);

/// The highest bus bandwidth of a collective on these GPUs, in bytes per second; nullopt: unknown.
/// It follows from what each GPU has to send or receive at least, whatever the algorithm:
/// - what f * S leaves to the slowest GPU; of an all_reduce S itself, if switches can add up, which
///   allows 2 (n-1) / n times its rate. Without switches each GPU sends 2 (n-1) / n * S on average,
///   so the mean rate limits as well.
std::optional<double> highestBusBandwidth(CollectiveOp op, const std::vector<GpuRates>& rates);

class CommLimits {
 public:
  /// Needs the devices of operations.
  CommLimits(const Trace& trace, const std::vector<CommOperation>& operations,
             const JobCommunicators& communicators);
  /// nullopt: a GPU or a rate is unknown, or the ranks are on several hosts.
  std::optional<double> of(uint32_t communicator, CollectiveOp op) const;

 private:
  std::map<uint32_t, std::vector<GpuRates>> rates_;  // by communicator
};

}  // namespace tracesmith
