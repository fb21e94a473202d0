// SPDX-License-Identifier: Apache-2.0
// A timeline as a picture of characters: streams as rows, then what they do together. The height of
// a block is the share of its column's time in which the row was busy.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/text/terminal_table.hpp"
#include "tracesmith/model/trace.hpp"
#include "tracesmith/state/timeline_picture.hpp"

namespace tracesmith {

/// How to call what a picture knows by number.
struct TimelineNames {
  std::function<std::string(DeviceId)> device;
  std::function<std::string(StreamId)> stream;
  /// The number by which the program knows a stream; may be missing.
  std::function<std::optional<uint32_t>(StreamId)> stream_number;
  int64_t zero_ns = 0;  ///< the time that the axis calls 0
};
TimelineNames namesOf(const Trace& trace);

/// Columns of the chart itself when the whole picture may be `width` columns wide.
size_t timelineCells(int width);

/// What a picture may do without.
struct TimelineLook {
  bool axis = true;
  bool durations = true;  ///< the heading, and each row's share
  char fill = 0;          ///< instead of blocks: for cells that are busy for half of their time
};

/// The picture on style.width columns (0: 100); lines end in '\n'. Says so when nothing ran.
std::string timelineText(const TimelinePicture& picture, const TimelineNames& names,
                         const TerminalStyle& style, const TimelineLook& look = {});

/// The numbers behind the picture.
void writeTimelineJson(const TimelinePicture& picture, const TimelineNames& names, Output& out);

}  // namespace tracesmith
