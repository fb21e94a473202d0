// SPDX-License-Identifier: Apache-2.0
// A Timeline as text, for programs that have TraceEvents (`tracesmith view --timeline` shows
// traces).
#pragma once

#include <cstdint>
#include <string>

#include "tracesmith/state/timeline_builder.hpp"

namespace tracesmith {

class TimelineViewer {
 public:
  struct ViewConfig {
    int width = 80;               ///< columns of the whole picture, at least 20
    size_t max_rows = 50;         ///< streams; the busiest ones are shown
    bool show_timestamps = true;  ///< an axis
    bool show_duration = true;    ///< how long it is, and the share of it in which a row was busy
    /// Drawn where a stream was busy for half of the column or more; 0: blocks whose height is the
    /// share of the column in which it was busy.
    char fill_char = 0;
  };

  TimelineViewer() = default;
  explicit TimelineViewer(const ViewConfig& config) : config_(config) {}

  /// Streams as rows, then how many operations ran at once and how busy each device was.
  std::string render(const Timeline& timeline) const;
  /// One stream of a device; says so when it has no work.
  std::string renderStream(const Timeline& timeline, uint32_t stream_id,
                           uint32_t device_id = 0) const;
  /// Spans, duration, utilization, most operations at once.
  std::string renderStats(const Timeline& timeline) const;

 private:
  ViewConfig config_;
};

using TimelineViewConfig = TimelineViewer::ViewConfig;

}  // namespace tracesmith
