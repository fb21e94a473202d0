// SPDX-License-Identifier: Apache-2.0
// Which device came last to collectives of which the trace has the kernels only: no calls, and no
// communicators.
//
// A collective ends nowhere before all have come. So kernels of one name on different devices are
// taken for one collective, in their order, if each starts before any of them ends.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"
#include "tracesmith/analysis/timing/distribution.hpp"

namespace tracesmith {

/// Of one device among those of a kernel.
struct DeviceArrivals {
  DeviceId device{};
  uint64_t times_last = 0;  ///< and the clocks tell that it was
  int64_t late_ns = 0;      ///< in sum, by how much it came later than the one before it
  int64_t caused_ns = 0;    ///< by other devices for this one, where it was the last
  int64_t waited_ns = 0;    ///< by this device for the last one
};

/// Of all kernels of one name.
struct KernelArrivals {
  StringId kernel{};
  uint64_t collectives = 0;
  uint64_t compared = 0;   ///< of which the clocks tell which device came last
  uint64_t unmatched = 0;  ///< kernels that are in none of the collectives
  Distribution spread_ns;  ///< from the first device to the last
  std::vector<DeviceArrivals> devices;
};

struct AllKernelArrivals {
  std::vector<KernelArrivals> kernels;  ///< those that most waiting is for first
  /// Names whose kernels on different devices do not match, so that their groups are unknown. Those
  /// of messages are among them, unless they are on two devices.
  uint64_t unknown_groups = 0;
  bool are_comparable = true;  ///< false: the clocks of the ranks were not compared
};

/// Needs memory and time by the number of collective kernels.
AllKernelArrivals kernelArrivals(const Trace& trace, const DeviceOps& ops);

}  // namespace tracesmith
