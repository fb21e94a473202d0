// SPDX-License-Identifier: Apache-2.0
// How many blocks of a kernel a device holds at once, by its launch shape.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct KernelOccupancy {
  uint64_t threads = 0;  ///< of a block
  uint64_t shared_bytes = 0;
  uint64_t blocks = 0;           ///< of the launch
  uint64_t blocks_per_unit = 0;  ///< resident on a unit at once, at most
  double occupancy = 0;          ///< resident warps of a unit / most
  std::string_view limit;        ///< what allows no more blocks
  double waves = 0;              ///< blocks / those resident on the device; 0: not known

  /// Nothing where the trace has no such shape or device, or the device's limits are missing.
  static std::optional<KernelOccupancy> of(const Trace& trace, ShapeId shape, DeviceId device);
};

}  // namespace tracesmith
