// SPDX-License-Identifier: Apache-2.0
// A made-up trace of a training loop, for trying the tools where there is no device. Nothing in it
// was measured, and it says so: metadata "synthetic" is "true", every row that has flags carries
// op_flags::kSynthetic, and the device is called "Simulated device (synthetic)".
#pragma once

#include <cstdint>
#include <memory>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct SimulationOptions {
  double duration_s = 1;  ///< host time during which work is launched
  uint32_t devices = 1;   ///< 1 to 64; each is driven by a thread of its own
  uint32_t streams = 4;   ///< per device, 1 to 64: compute, copies, communication, more compute
  uint64_t seed = 1;      ///< equal options give equal traces
  int64_t start_ns = 1'000'000'000;  ///< host time at which it begins
  uint32_t layers = 8;               ///< of the network, 1 to 1000
  uint64_t first_correlation_id = 1;
  uint64_t max_kernels = 10'000'000;  ///< ends the simulation early (metadata "simulation_cut")
};

/// Work in order: per iteration a batch is copied in, layers run forward and backward, gradients
/// are reduced over the devices while the backward pass goes on, weights are updated, the loss is
/// copied out and waited for. The host launches ahead of the device; durations are log-normal.
Trace simulateTrace(const SimulationOptions& options);

/// The same in pieces, for as long as wanted.
class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options);
  ~Simulation();

  /// Runs whole iterations until the host has launched everything up to `host_ns`. Device work may
  /// end later than that.
  void runUntil(int64_t host_ns);
  /// The rows since the last take(), by time, with all of the dictionaries.
  Trace take();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith
