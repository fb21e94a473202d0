// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/timeline_picture.hpp"

#include <algorithm>
#include <limits>

namespace tracesmith {
namespace {

constexpr double kRounding = 1e-9;  // share of a cell: the rounding error of its borders

/// The window and its cells. Differences are unsigned: times in a damaged trace may be further
/// apart than an int64_t holds.
class Grid {
 public:
  Grid(int64_t begin_ns, int64_t end_ns, size_t cells)
      : begin_(begin_ns), end_(end_ns), cells_(cells), cell_ns_(length(begin_ns, end_ns) / cells) {}

  Interval clipped(const DeviceSpan& span) const {
    return {std::max(span.begin_ns, begin_), std::min(span.end_ns, end_)};
  }
  /// Position of a time inside the window, in cells.
  double at(int64_t ns) const { return std::min<double>(length(begin_, ns) / cell_ns_, cells_); }
  size_t cellOf(int64_t ns) const {
    return std::min(static_cast<size_t>(at(ns)), static_cast<size_t>(cells_) - 1);
  }
  size_t cells() const { return static_cast<size_t>(cells_); }

  /// Calls f(cell, share of the cell) for each cell that [i.begin_ns, i.end_ns) touches, at least
  /// one.
  template <class F>
  void spread(const Interval& i, F&& f) const {
    const double from = at(i.begin_ns);
    const double to = at(i.end_ns);
    const size_t first = cellOf(i.begin_ns);
    for (size_t cell = first; cell < cells(); ++cell) {
      const auto left = static_cast<double>(cell);
      if (cell > first && left >= to) break;
      const double share = std::max(0.0, std::min(to, left + 1) - std::max(from, left));
      // At the border of a cell, rounding may assign a tiny part of the interval to the neighbour.
      if (share < kRounding && share < (to - from) / 2) continue;
      f(cell, share);
    }
  }

 private:
  static double length(int64_t from, int64_t to) {
    return static_cast<double>(static_cast<uint64_t>(to) - static_cast<uint64_t>(from));
  }
  int64_t begin_;
  int64_t end_;
  double cells_;
  double cell_ns_;
};

bool isWork(const DeviceSpan& span) {
  return span.table != TableId::kSync && span.end_ns > span.begin_ns;
}

std::vector<double> sharesOf(std::vector<Interval> intervals, const Grid& grid) {
  if (intervals.empty()) return {};
  std::vector<double> shares(grid.cells(), 0.0);
  for (const Interval& i : unionOf(std::move(intervals))) {
    grid.spread(i, [&](size_t cell, double share) { shares[cell] += share; });
  }
  for (double& share : shares) share = std::min(share, 1.0);
  return shares;
}

double meanOf(const std::vector<double>& shares) {
  double sum = 0;
  for (double share : shares) sum += share;
  return shares.empty() ? 0 : sum / static_cast<double>(shares.size());
}

void addConcurrency(DevicePicture& device, const std::vector<Interval>& all, const Grid& grid) {
  device.concurrency.assign(grid.cells(), 0);
  const Concurrency c = concurrencyOf(all);
  device.most_concurrent = c.most;
  for (size_t i = 0; i + 1 < c.steps.size(); ++i) {
    if (c.steps[i].count == 0) continue;
    grid.spread({c.steps[i].begin_ns, c.steps[i + 1].begin_ns}, [&](size_t cell, double) {
      device.concurrency[cell] = std::max(device.concurrency[cell], c.steps[i].count);
    });
  }
}

/// Keeps the `max` busiest streams of all devices, in their order.
void keepBusiest(TimelinePicture& picture, size_t max) {
  std::vector<double> busy;
  for (const DevicePicture& device : picture.devices) {
    for (const StreamPicture& stream : device.streams) busy.push_back(stream.busy);
  }
  if (busy.size() <= max) return;
  picture.streams_left_out = busy.size() - max;
  double least = std::numeric_limits<double>::infinity();
  size_t ties = 0;  // number of streams, as busy as the least busy one kept, that may stay
  if (max > 0) {
    std::nth_element(busy.begin(), busy.begin() + static_cast<ptrdiff_t>(max - 1), busy.end(),
                     std::greater<>());
    least = busy[max - 1];
    ties = static_cast<size_t>(
        std::count(busy.begin(), busy.begin() + static_cast<ptrdiff_t>(max), least));
  }
  for (DevicePicture& device : picture.devices) {
    std::erase_if(device.streams, [&](const StreamPicture& stream) {
      if (stream.busy == least && ties > 0) {
        --ties;
        return false;
      }
      return stream.busy <= least;
    });
  }
}

}  // namespace

TimelinePicture pictureOf(const std::vector<StreamTimeline>& timelines,
                          const PictureOptions& options) {
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();
  for (const StreamTimeline& timeline : timelines) {
    for (const DeviceSpan& span : timeline.spans) {
      if (!isWork(span)) continue;
      first = std::min(first, span.begin_ns);
      last = std::max(last, span.end_ns);
    }
  }
  TimelinePicture picture;
  picture.begin_ns = options.from_ns.value_or(first);
  picture.end_ns = options.to_ns.value_or(last);
  picture.cells = std::max<size_t>(options.cells, 1);
  if (first >= last || picture.begin_ns >= picture.end_ns) return picture;
  const Grid grid(picture.begin_ns, picture.end_ns, picture.cells);
  for (size_t i = 0; i < timelines.size();) {
    DevicePicture device;
    device.device = timelines[i].device;
    std::vector<Interval> on_device;
    for (; i < timelines.size() && timelines[i].device == device.device; ++i) {
      std::vector<Interval> kernels, memory, both;
      for (const DeviceSpan& span : timelines[i].spans) {
        const Interval piece = grid.clipped(span);
        if (!isWork(span) || piece.end_ns <= piece.begin_ns) continue;
        (span.table == TableId::kKernel ? kernels : memory).push_back(piece);
        both.push_back(piece);
      }
      if (both.empty()) continue;
      picture.operations += both.size();
      on_device.insert(on_device.end(), both.begin(), both.end());
      StreamPicture stream;
      stream.stream = timelines[i].stream;
      stream.kernels = sharesOf(std::move(kernels), grid);
      stream.memory = sharesOf(std::move(memory), grid);
      stream.busy = meanOf(sharesOf(std::move(both), grid));
      device.streams.push_back(std::move(stream));
    }
    if (on_device.empty()) continue;
    addConcurrency(device, on_device, grid);
    device.busy_by_cell = sharesOf(std::move(on_device), grid);
    device.busy = meanOf(device.busy_by_cell);
    picture.devices.push_back(std::move(device));
  }
  keepBusiest(picture, options.max_streams);
  return picture;
}

}  // namespace tracesmith
