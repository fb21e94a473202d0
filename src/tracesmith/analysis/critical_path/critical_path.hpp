// SPDX-License-Identifier: Apache-2.0
// The critical path: the chain of activities that determined the duration, found backwards from the
// end of a period to its start, at each point to what was waited for. It covers the period without
// gaps.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "tracesmith/analysis/critical_path/op_order.hpp"
#include "tracesmith/analysis/timing/device_ops.hpp"

namespace tracesmith {

/// What the time on the path was spent on.
enum class BoundBy : uint8_t {
  kHost,  ///< host code, including the return of a wait
  kCompute,
  kCommunication,
  kMemory,   ///< copies and fills
  kLaunch,   ///< from the start of a launch to the start of its work on a free device
  kDevice,   ///< short gaps between two dependent pieces of work
  kUnknown,  ///< longer gaps, and gaps before work whose launch is not in the trace
};
constexpr size_t kBounds = 7;
std::string_view toString(BoundBy bound);

struct PathSegment {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  BoundBy bound{};
  /// Index in DeviceOps::ops: the work itself, otherwise the op that follows.
  uint32_t op = DeviceOp::kNone;
  uint32_t call = DeviceOp::kNone;  ///< row of host_call: the launch, or the call that waited
  ThreadId thread{};                ///< for host time
  int64_t length() const { return end_ns - begin_ns; }
};

struct CriticalPath {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  std::vector<PathSegment> segments;  ///< by time, without gaps
  std::array<int64_t, kBounds> total_ns{};
  /// Number of threads whose ranges continue after the end of the path, and the time until which
  /// they do. They waited for no device, and often they idle in a range, so it is unknown whether
  /// anything waited for them.
  uint64_t threads_left_out = 0;
  int64_t left_out_until_ns = 0;
  /// Slack of each op: how much later it could have ended without delaying anything that the trace
  /// shows waiting for it; 0 on the path.
  std::vector<int64_t> slack_ns;

  /// Critical path of the work launched in [from, to), to its end; or of the whole trace. With
  /// AnalysisOptions::as_hta, host time covers only operators and calls (except calls that wait),
  /// and the path ends where that makes it longest.
  static CriticalPath of(const Trace& trace, const DeviceOps& ops,
                         std::optional<int64_t> from_ns = {}, std::optional<int64_t> to_ns = {},
                         const AnalysisOptions& options = {});
  /// As of(), but calls on_segment(segment) for each segment, from the last to the first, instead
  /// of storing them: there may be more of them than events. Not for AnalysisOptions::as_hta.
  static CriticalPath visit(const Trace& trace, const DeviceOps& ops, const OpOrders& orders,
                            TimeRange time, const AnalysisOptions& options,
                            const std::function<void(const PathSegment&)>& on_segment);
};

}  // namespace tracesmith
