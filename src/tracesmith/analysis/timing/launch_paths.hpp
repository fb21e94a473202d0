// SPDX-License-Identifier: Apache-2.0
// Which ranges of the host a piece of device work was launched in, outermost first.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"

namespace tracesmith {

/// Device work by the names of the ranges that were open on the launching thread when the launch
/// began; the longest first.
struct LaunchPath {
  std::vector<StringId> names;  ///< outermost first; none: launched outside of ranges
  uint64_t ops = 0;
  int64_t device_ns = 0;
};
std::vector<LaunchPath> launchPaths(const Trace& trace, const DeviceOps& ops);

}  // namespace tracesmith
