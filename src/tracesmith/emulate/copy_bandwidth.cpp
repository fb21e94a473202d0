// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/emulate/copy_bandwidth.hpp"

#include <algorithm>
#include <cmath>

namespace tracesmith {

std::map<std::pair<uint32_t, CopyKind>, CopyFit> copyFits(const Trace& trace,
                                                          const EmulatorGraph& graph) {
  // Least squares of relative errors, so that short copies count as much as long ones.
  struct Sums {
    double w = 0, x = 0, y = 0, xx = 0, xy = 0;
    uint64_t n = 0;
  };
  std::map<std::pair<uint32_t, CopyKind>, Sums> all;
  for (const EmulatedOp& op : graph.ops) {
    if (op.table != TableId::kCopy) continue;
    const auto length = static_cast<double>(op.end_ns - op.begin_ns);
    const auto bytes = static_cast<double>(trace.copy.bytes[op.row]);
    Sums& sums = all[{op.device, trace.copy.kind[op.row]}];
    if (length <= 0 || bytes <= 0) continue;
    const double weight = 1 / (length * length);
    sums.w += weight;
    sums.x += weight * bytes;
    sums.y += weight * length;
    sums.xx += weight * bytes * bytes;
    sums.xy += weight * bytes * length;
    ++sums.n;
  }
  std::map<std::pair<uint32_t, CopyKind>, CopyFit> fits;
  for (const auto& [place, s] : all) {
    CopyFit& fit = fits[place];
    fit.copies = s.n;
    if (s.n == 0) continue;
    const double det = s.w * s.xx - s.x * s.x;
    if (det > 1e-9 * s.w * s.xx) {
      fit.ns_per_byte = (s.w * s.xy - s.x * s.y) / det;
      fit.latency_ns = (s.xx * s.y - s.x * s.xy) / det;
    } else {
      fit.ns_per_byte = s.xy / s.xx;  // all copies have one size: attribute everything to bandwidth
    }
    // No copy takes negative time, or less time for more bytes.
    if (fit.latency_ns < 0) {
      fit.latency_ns = 0;
      fit.ns_per_byte = s.xy / s.xx;
    }
    if (fit.ns_per_byte < 0) {
      fit.ns_per_byte = 0;
      fit.latency_ns = s.y / s.w;
    }
  }
  return fits;
}

}  // namespace tracesmith
