// SPDX-License-Identifier: Apache-2.0
// What ran in each stream, and for how long.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"

namespace tracesmith {

struct StreamUse {
  StreamId stream{};
  DeviceId device{};
  ProcessId process{};  ///< of its first op
  uint64_t kernels = 0, copies = 0, fills = 0;
  uint64_t ops = 0;     ///< these and waits
  int64_t busy_ns = 0;  ///< union of its ops
  int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
  int64_t span() const { return ops == 0 ? 0 : last_ns - first_ns; }

  /// Of the next op, by start.
  void add(TableId table, int64_t begin_ns, int64_t end_ns) {
    ++ops;
    kernels += table == TableId::kKernel ? 1 : 0;
    copies += table == TableId::kCopy ? 1 : 0;
    fills += table == TableId::kFill ? 1 : 0;
    first_ns = std::min(first_ns, begin_ns);
    const int64_t from = std::max(begin_ns, last_ns);
    if (end_ns > from) busy_ns += end_ns - from;
    last_ns = std::max(last_ns, end_ns);
  }
};

/// In the order of DeviceOps::streams.
std::vector<StreamUse> streamUses(const DeviceOps& ops);

}  // namespace tracesmith
