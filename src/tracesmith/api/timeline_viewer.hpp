// SPDX-License-Identifier: Apache-2.0
// Draws a Timeline as text, for programs that have TraceEvents. For a trace file, use `tracesmith
// view --timeline`.
#pragma once

#include <cstdint>
#include <string>

#include "tracesmith/state/timeline_builder.hpp"

namespace tracesmith {

class TimelineViewer {
 public:
  struct ViewConfig {
    int width = 80;               ///< columns of the whole picture; at least 20
    size_t max_rows = 50;         ///< streams shown; the busiest are chosen
    bool show_timestamps = true;  ///< draw a time axis
    bool show_duration = true;    ///< total duration, and the busy share of each row
    /// Drawn in columns in which the stream was busy for at least half of the time. 0: draws blocks
    /// whose height is the busy share of the column.
    char fill_char = 0;
  };

  TimelineViewer() = default;
  explicit TimelineViewer(const ViewConfig& config) : config_(config) {}

  /// One row per stream, then the number of concurrent operations and each device's utilization.
  std::string render(const Timeline& timeline) const;
  /// One stream of a device; the text says so if the stream has no work.
  std::string renderStream(const Timeline& timeline, uint32_t stream_id,
                           uint32_t device_id = 0) const;
  /// Number of spans, duration, utilization and maximum concurrency.
  std::string renderStats(const Timeline& timeline) const;

 private:
  ViewConfig config_;
};

using TimelineViewConfig = TimelineViewer::ViewConfig;

}  // namespace tracesmith
