// SPDX-License-Identifier: Apache-2.0
// A synthetic trace of a training loop, for trying the tools without a device. The trace marks
// itself as synthetic: metadata "synthetic" is "true", every row that has flags carries
// op_flags::kSynthetic, and the device is called "Simulated device (synthetic)".
#pragma once

#include <cstdint>
#include <memory>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct SimulationOptions {
  double duration_s = 1;  ///< host time during which work is launched
  uint32_t devices = 1;   ///< 1 to 64; each has a host thread of its own
  uint32_t streams = 4;   ///< per device, 1 to 64: compute, copies, communication, more compute
  uint64_t seed = 1;      ///< equal options give equal traces
  int64_t start_ns = 1'000'000'000;  ///< host time of the start
  uint32_t layers = 8;               ///< of the network, 1 to 1000
  uint64_t first_correlation_id = 1;
  uint64_t max_kernels = 10'000'000;  ///< ends the simulation early (metadata "simulation_cut")
};

/// Simulates a training loop. Each iteration copies a batch to the device and runs the layers
/// forward and backward. Gradients are reduced over the devices during the backward pass. Then the
/// weights are updated, and the loss is copied to the host and waited for. The host launches ahead
/// of the device. Durations are log-normal.
Trace simulateTrace(const SimulationOptions& options);

/// The same in pieces, of any total length.
class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options);
  ~Simulation();

  /// Simulates whole iterations until the host has launched everything up to `host_ns`. Device work
  /// may end later.
  void runUntil(int64_t host_ns);
  /// The rows since the last take(), by time, with all dictionaries.
  Trace take();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith
