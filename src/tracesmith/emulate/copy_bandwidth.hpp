// SPDX-License-Identifier: Apache-2.0
// The part of a copy's duration that depends on its size. Durations are fitted as a + bytes /
// bandwidth, for each direction of each device.
#pragma once

#include <map>
#include <utility>

#include "tracesmith/emulate/emulator_graph.hpp"

namespace tracesmith {

struct CopyFit {
  double latency_ns = 0;   ///< duration of an empty copy
  double ns_per_byte = 0;  ///< 0: durations do not grow with size
  uint64_t copies = 0;
  /// Share of the duration that depends on the size.
  double shareOfSize(uint64_t bytes) const {
    const double by_size = ns_per_byte * static_cast<double>(bytes);
    return by_size <= 0 ? 0 : by_size / (by_size + latency_ns);
  }
};

/// By device (index in the graph) and direction.
std::map<std::pair<uint32_t, CopyKind>, CopyFit> copyFits(const Trace& trace,
                                                          const EmulatorGraph& graph);

}  // namespace tracesmith
