// SPDX-License-Identifier: Apache-2.0
// How late each piece of device work could have ended without delaying what waited for it.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"

namespace tracesmith {

/// Op `to` waited for op `from`, which ended by its begin; or `to` is a wait that is drawn on its
/// stream, and `from` ended by its end.
struct EventWait {
  uint32_t from = 0;
  uint32_t to = 0;
};

/// The host waited for an op, or for all ops of a stream that had ended by then.
struct Deadline {
  uint32_t op = DeviceOp::kNone;
  uint32_t stream = DeviceOp::kNone;  ///< in DeviceOps::streams
  int64_t by_ns = 0;
};

/// For each op the latest end, ns: the earliest of `end_ns`, of its deadlines, and of the latest
/// begin (latest end less length) of each op that waited for it. An op waits for those of its
/// stream that ended by its begin, and by `event_waits`. A wait that is drawn on a stream takes no
/// time of its own: it has to be over by the latest begin of what begins behind it. O(n log n) for
/// n ops, waits and deadlines.
std::vector<int64_t> latestEnds(const DeviceOps& ops, const std::vector<Deadline>& deadlines,
                                const std::vector<EventWait>& event_waits, int64_t end_ns);

}  // namespace tracesmith
