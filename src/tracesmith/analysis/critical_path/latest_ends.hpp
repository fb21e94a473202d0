// SPDX-License-Identifier: Apache-2.0
// Computes how late each piece of device work could have ended without delaying what waited for it.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/analysis/critical_path/op_order.hpp"
#include "tracesmith/analysis/timing/device_ops.hpp"

namespace tracesmith {

/// Op `to` waited for op `from`, which ended before `to` started. If `to` is a wait drawn on its
/// stream, `from` ended before the end of `to`.
struct EventWait {
  uint32_t from = 0;
  uint32_t to = 0;
};

/// The host waited for an op, or for all ops of a stream that had ended by then.
struct Deadline {
  uint32_t op = DeviceOp::kNone;
  uint32_t stream = DeviceOp::kNone;  ///< index in DeviceOps::streams
  int64_t by_ns = 0;
};

/// The latest end of each op in ns: the earliest of `end_ns`, its deadlines, and the latest start
/// (latest end minus length) of each op that waited for it. An op waits for the ops of its stream
/// that ended before its start, and for those in `event_waits`. A wait drawn on a stream takes no
/// time of its own: it must end by the latest start of the work after it. Takes O(n log n) for n
/// ops, waits and deadlines. `orders` are those of `ops`.
std::vector<int64_t> latestEnds(const DeviceOps& ops, const OpOrders& orders,
                                const std::vector<Deadline>& deadlines,
                                const std::vector<EventWait>& event_waits, int64_t end_ns);

}  // namespace tracesmith
