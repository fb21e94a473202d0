// SPDX-License-Identifier: Apache-2.0
// Orders of device work over all streams, in 4 bytes an op. The streams are merged, because each is
// sorted by start already, and mostly by end.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"

namespace tracesmith {

struct OpOrders {
  /// Indices in DeviceOps::ops, by start and by end. Equal ones by index.
  std::vector<uint32_t> by_begin, by_end;

  /// Uses two threads if there are many ops.
  static OpOrders of(const DeviceOps& ops);
};

}  // namespace tracesmith
