// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/devices/topology_reading.hpp"

#include <utility>

#include "tracesmith/capture/processes/signal_free_thread.hpp"

namespace tracesmith {

TopologyReading::TopologyReading(TopologyProbe probe) {
  auto thread = startSignalFreeThread([this, probe = std::move(probe)] {
    auto topology = machineTopology(probe);
    if (topology) {
      topology_ = std::move(*topology);
    } else {
      topology_.problems.push_back(topology.error().toString());
    }
    done_.store(true, std::memory_order_release);
  });
  if (thread) {
    thread_ = std::move(*thread);
  } else {
    topology_.problems.push_back(thread.error().toString());
    done_.store(true);
  }
}

TopologyReading::~TopologyReading() {
  if (thread_.joinable()) thread_.join();
}

topology::Topology TopologyReading::finish() {
  if (thread_.joinable()) thread_.join();
  return std::move(topology_);
}

}  // namespace tracesmith
