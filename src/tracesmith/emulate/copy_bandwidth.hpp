// SPDX-License-Identifier: Apache-2.0
// What of a copy's length goes by its size: lengths are fitted as a + bytes / bandwidth, for each
// direction of each device.
#pragma once

#include <map>
#include <utility>

#include "tracesmith/emulate/emulator_graph.hpp"

namespace tracesmith {

struct CopyFit {
  double latency_ns = 0;   ///< of a copy of nothing
  double ns_per_byte = 0;  ///< 0: lengths do not grow with size
  uint64_t copies = 0;
  /// How much of a length the size makes up.
  double shareOfSize(uint64_t bytes) const {
    const double by_size = ns_per_byte * static_cast<double>(bytes);
    return by_size <= 0 ? 0 : by_size / (by_size + latency_ns);
  }
};

/// By device (number of the graph) and direction.
std::map<std::pair<uint32_t, CopyKind>, CopyFit> copyFits(const Trace& trace,
                                                          const EmulatorGraph& graph);

}  // namespace tracesmith
