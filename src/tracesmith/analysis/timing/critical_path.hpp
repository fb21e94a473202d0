// SPDX-License-Identifier: Apache-2.0
// The chain that decided how long it took: from the end of a stretch of time back to its begin, at
// each point to what was waited for. It covers the stretch without gaps.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"

namespace tracesmith {

/// What the time on the path was spent with.
enum class BoundBy : uint8_t {
  kHost,  ///< host code, the return of a wait included
  kCompute,
  kCommunication,
  kMemory,   ///< copies and fills
  kLaunch,   ///< from the begin of a launch to the begin of its work, the device being free
  kDevice,   ///< short gaps between two pieces of work of which one waited for the other
  kUnknown,  ///< longer ones, and before work whose launch is not in the trace
};
constexpr size_t kBounds = 7;
std::string_view toString(BoundBy bound);

struct PathSegment {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  BoundBy bound{};
  uint32_t op = DeviceOp::kNone;    ///< in DeviceOps::ops, for work; the one that follows, else
  uint32_t call = DeviceOp::kNone;  ///< row of host_call: the launch, or the call that waited
  ThreadId thread{};                ///< of host time
  int64_t length() const { return end_ns - begin_ns; }
};

struct CriticalPath {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  std::vector<PathSegment> segments;  ///< by time, without gaps
  std::array<int64_t, kBounds> total_ns{};
  /// Threads whose ranges go on behind its end, and until when. They waited for no device, so that
  /// it is not known whether anything waited for them: often they idle in a range.
  uint64_t threads_left_out = 0;
  int64_t left_out_until_ns = 0;
  /// Of each op: how much later it could have ended without delaying anything that the trace shows
  /// to have waited for it; 0 on the path.
  std::vector<int64_t> slack_ns;

  /// Of what was launched in [from, to), to its end; or of the whole trace.
  /// With AnalysisOptions::as_hta host time is only what lies within operators and calls (and not
  /// in calls that wait), and the path ends where that makes it longest.
  static CriticalPath of(const Trace& trace, const DeviceOps& ops,
                         std::optional<int64_t> from_ns = {}, std::optional<int64_t> to_ns = {},
                         const AnalysisOptions& options = {});
};

}  // namespace tracesmith
