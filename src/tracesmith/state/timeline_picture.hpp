// SPDX-License-Identifier: Apache-2.0
// Timelines split into equal cells of time, for pictures with few columns. The value of a cell is a
// measure of the whole cell (a share, a maximum), so short work is never missed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tracesmith/state/timeline.hpp"

namespace tracesmith {

struct PictureOptions {
  std::optional<int64_t> from_ns, to_ns;  ///< absent: start or end of the work
  size_t cells = 80;                      ///< at least 1
  size_t max_streams = SIZE_MAX;          ///< keeps the busiest ones
};

struct StreamPicture {
  StreamId stream{};
  /// Share of each cell, 0 to 1, in which at least one kernel (or copy or fill) of the stream ran.
  /// Empty when the stream has none.
  std::vector<double> kernels, memory;
  double busy = 0;  ///< share of the window in which either ran
};

struct DevicePicture {
  DeviceId device{};
  std::vector<StreamPicture> streams;
  std::vector<uint32_t> concurrency;  ///< per cell: most operations at once, over all streams
  std::vector<double> busy_by_cell;   ///< share of each cell in which anything ran
  double busy = 0;  ///< share of the window; utilization refers to the device's own span
  uint32_t most_concurrent = 0;
};

struct TimelinePicture {
  int64_t begin_ns = 0, end_ns = 0;
  size_t cells = 0;
  uint64_t operations = 0;  ///< in the window
  std::vector<DevicePicture> devices;
  size_t streams_left_out = 0;  ///< less busy than those shown; their work counts in `devices`
};

/// Draws kernels, copies and fills; markers and barriers do not count as work. Returns no device
/// when nothing ran in the window.
TimelinePicture pictureOf(const std::vector<StreamTimeline>& timelines,
                          const PictureOptions& options);

}  // namespace tracesmith
