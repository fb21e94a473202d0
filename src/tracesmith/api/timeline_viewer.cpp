// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/api/timeline_viewer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/export/text/terminal_timeline.hpp"

namespace tracesmith {
namespace {

constexpr int kLeastWidth = 20;

std::string draw(const Timeline& timeline, std::vector<StreamTimeline> streams,
                 const TimelineViewer::ViewConfig& config) {
  const int width = std::max(config.width, kLeastWidth);
  const TimelinePicture picture =
      pictureOf(streams, {.cells = timelineCells(width), .max_streams = config.max_rows});
  TimelineNames names;
  names.device = [](DeviceId id) { return fmt::format("device {}", indexOf(id)); };
  names.stream = [&](StreamId id) {
    const DeviceSpan& first = streams[indexOf(id)].spans.front();
    return fmt::format("stream {}", timeline.spans.streamOf(first.row).stream_id);
  };
  names.zero_ns = picture.begin_ns;
  const TimelineStyle look{
      .axis = config.show_timestamps, .durations = config.show_duration, .fill = config.fill_char};
  return timelineText(picture, names, {.width = width}, look);
}

}  // namespace

std::string TimelineViewer::render(const Timeline& timeline) const {
  return draw(timeline, streamsOf(timeline), config_);
}

std::string TimelineViewer::renderStream(const Timeline& timeline, uint32_t stream_id,
                                         uint32_t device_id) const {
  std::vector<StreamTimeline> one;
  for (StreamTimeline& stream : streamsOf(timeline)) {
    const TimelineSpans::Stream& s = timeline.spans.streamOf(stream.spans.front().row);
    if (s.stream_id != stream_id || s.device_id != device_id) continue;
    stream.stream = idAt<StreamId>(one.size());
    one.push_back(std::move(stream));
  }
  return draw(timeline, std::move(one), config_);
}

std::string TimelineViewer::renderStats(const Timeline& timeline) const {
  return fmt::format(
      "operations       {}\n"
      "duration         {}\n"
      "utilization      {}\n"
      "most at once     {}\n",
      formatCount(timeline.spans.size()),
      formatDuration(static_cast<int64_t>(timeline.total_duration)),
      formatPercent(timeline.gpu_utilization), timeline.max_concurrent_ops);
}

}  // namespace tracesmith
