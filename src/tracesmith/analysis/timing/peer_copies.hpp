// SPDX-License-Identifier: Apache-2.0
// Copies from one device to another, by the two devices and the connection that they have.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tracesmith/model/trace.hpp"
#include "tracesmith/topology/routes.hpp"

namespace tracesmith {

struct PeerCopies {
  DeviceId source{};
  DeviceId destination{};
  uint64_t count = 0;
  int64_t total_ns = 0;  ///< sum of their durations
  uint64_t bytes = 0;
  /// The best route between the two, if the trace has the topology of its host and both devices are
  /// in it; else of unknown class.
  topology::Path route;
};

/// Adds up copies, also those of a part of a trace.
class PeerCopySums {
 public:
  /// `tables` has the devices.
  void add(const Trace& tables, const CopyTable& copies);
  void add(const PeerCopySums& other);
  /// As peerCopies().
  std::vector<PeerCopies> all(const Trace& tables) const;

 private:
  std::map<std::pair<DeviceId, DeviceId>, PeerCopies> by_devices_;
};

/// Ordered by source and destination. Copies whose devices the trace does not name are left out.
/// The trace is not merged, or the part of one rank.
std::vector<PeerCopies> peerCopies(const Trace& trace);

}  // namespace tracesmith
