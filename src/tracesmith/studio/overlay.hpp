// SPDX-License-Identifier: Apache-2.0
// What is drawn over the lanes of the timeline: why streams idle, and the critical path.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/export/browse/timeline_rows.hpp"

namespace tracesmith::studio {

/// A part of a lane. Times are those of the trace.
struct OverlayMark {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  uint32_t lane = 0;   ///< index in TimelineRows::rows
  uint32_t cause = 0;  ///< index in Overlay::causes
};

struct Overlay {
  std::vector<std::string_view> causes;
  std::vector<OverlayMark> marks;  ///< by start
};

/// The gaps of streams, by their reason (analysis/timing/time_breakdown.hpp).
Overlay idleOverlay(const Trace& trace, const TimelineRows& rows);
/// The critical path of the whole trace (analysis/critical_path/critical_path.hpp), by what bounds
/// it. Parts that have no lane are left out.
Overlay criticalPathOverlay(const Trace& trace, const TimelineRows& rows);

}  // namespace tracesmith::studio
