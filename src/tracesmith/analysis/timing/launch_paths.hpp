// SPDX-License-Identifier: Apache-2.0
// Finds the host ranges in which device work was launched, outermost first.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"

namespace tracesmith {

/// Device work by the names of the ranges open on the launching thread at the start of the launch;
/// the longest first.
struct LaunchPath {
  std::vector<StringId> names;  ///< outermost first; empty: launched outside of ranges
  uint64_t ops = 0;
  int64_t device_ns = 0;
};
std::vector<LaunchPath> launchPaths(const Trace& trace, const DeviceOps& ops);

}  // namespace tracesmith
