// SPDX-License-Identifier: Apache-2.0
// Draws a timeline with characters: one row per stream, then rows for all of them together. The
// height of a block is the fraction of the column's time in which the row was busy.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/text/terminal_table.hpp"
#include "tracesmith/model/trace.hpp"
#include "tracesmith/state/timeline_picture.hpp"

namespace tracesmith {

/// Names for the ids in a picture.
struct TimelineNames {
  std::function<std::string(DeviceId)> device;
  std::function<std::string(StreamId)> stream;
  /// The program's own number of a stream; may be missing.
  std::function<std::optional<uint32_t>(StreamId)> stream_number;
  int64_t zero_ns = 0;  ///< time shown as 0 on the axis
};
TimelineNames namesOf(const Trace& trace);

/// Number of chart columns if the whole picture may be `width` columns wide.
size_t timelineCells(int width);

/// A line of `cells` columns at most with marks of round times. Empty if none fits.
std::string timelineAxis(int64_t begin_ns, int64_t end_ns, int64_t zero_ns, size_t cells,
                         const TerminalStyle& style);

/// One of eight heights. Any share above 0 is visible, and only a full share is drawn as full.
std::string timelineBlock(double share, const TerminalStyle& style);

/// Optional parts of a picture.
struct TimelineStyle {
  bool axis = true;
  bool durations = true;  ///< show the heading, and each row's share
  /// If set, replaces blocks; marks cells that are busy for at least half of their time.
  char fill = 0;
};

/// Returns the picture, style.width columns wide (0: 100), with lines ending in '\n'. If nothing
/// ran, returns a sentence that says so.
std::string timelineText(const TimelinePicture& picture, const TimelineNames& names,
                         const TerminalStyle& style, const TimelineStyle& look = {});

/// Writes the numbers behind the picture as JSON.
void writeTimelineJson(const TimelinePicture& picture, const TimelineNames& names, Output& out);

}  // namespace tracesmith
