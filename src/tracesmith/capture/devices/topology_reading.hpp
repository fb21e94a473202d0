// SPDX-License-Identifier: Apache-2.0
// Reads this machine's topology while something else goes on: NVIDIA's library may take seconds.
#pragma once

#include <atomic>
#include <thread>

#include "tracesmith/capture/devices/machine_topology.hpp"
#include "tracesmith/topology/topology.hpp"

namespace tracesmith {

/// For the end of a recording, which waits for it.
inline const TopologyProbe kBriefTopologyProbe{.timeout_ms = 2000};

class TopologyReading {
 public:
  /// Starts to read.
  explicit TopologyReading(TopologyProbe probe);
  /// Waits for the end.
  ~TopologyReading();
  TopologyReading(const TopologyReading&) = delete;
  TopologyReading& operator=(const TopologyReading&) = delete;

  bool isDone() const { return done_.load(std::memory_order_acquire); }
  /// Waits for the end. If nothing could be read, the problems say why. Call it once.
  topology::Topology finish();

 private:
  topology::Topology topology_;  // written by the thread
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace tracesmith
