// SPDX-License-Identifier: Apache-2.0
// The rows of the interactive timeline, made once per trace so that drawing a screen never walks
// all events. Each lane holds items that do not overlap, by start, so that binary searches find
// what lies in a cell; sums per block of items give the time of each kind within it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tracesmith/analysis/kernel_names/kernel_family.hpp"
#include "tracesmith/analysis/timing/covered_time.hpp"
#include "tracesmith/export/browse/lane_items.hpp"
#include "tracesmith/export/select/event_filter.hpp"
#include "tracesmith/state/timeline.hpp"

namespace tracesmith {

/// What an item is drawn as: a kernel's family (its number), or one of these.
enum class ItemKind : uint8_t { kSync = kKernelFamilies, kHostCall, kRange };
constexpr size_t kItemKinds = kKernelFamilies + 3;
constexpr ItemKind kindOf(KernelFamily family) { return static_cast<ItemKind>(family); }
/// "gemm", "sync", "API call", "range".
std::string_view toString(ItemKind kind);

/// Items that do not overlap, by start.
class TimelineLane {
 public:
  using Times = std::array<int64_t, kItemKinds>;
  TimelineLane() = default;
  TimelineLane(LaneItems items, std::vector<ItemKind> kinds);

  const LaneItems& items() const { return items_; }
  ItemKind kind(size_t item) const { return kinds_[item]; }
  /// Items that overlap [begin, end): indices [first, last). An empty item counts as 1 ns long.
  std::pair<size_t, size_t> within(int64_t begin_ns, int64_t end_ns) const;
  /// ns of each kind in [begin, end), in O(items of a block).
  Times timesWithin(int64_t begin_ns, int64_t end_ns) const;

 private:
  LaneItems items_;
  std::vector<ItemKind> kinds_;
  std::vector<Times> blocks_;  // [i]: ns of each kind before item i * kLaneBlock
};

/// A heading (a device or a process), or a lane below it.
struct TimelineRow {
  std::string label;
  bool heading = false;
  size_t group = 0;        ///< the number of its heading
  bool first_lane = true;  ///< false: another lane of the stream or thread above
  StreamId stream{};       ///< kNone: a row of a host thread, or work without a stream
  bool on_device = false;
  TimelineLane lane;
  /// First lane of a stream: kernels, copies and fills of all its lanes; if it is wanted.
  CoveredTime busy;
};

struct TimelineRows {
  std::vector<TimelineRow> rows;
  size_t groups = 0;
  int64_t begin_ns = 0, end_ns = 0;  ///< of all items; never empty
  int64_t zero_ns = 0;               ///< the time shown as 0
  uint64_t items = 0;
  /// Kinds of device work, those with the most time first.
  std::vector<ItemKind> kinds;
};

/// Streams by device, then API calls and ranges of each process by thread. Takes the events that
/// match. `trace` must outlive the result and not change.
TimelineRows timelineRowsOf(const Trace& trace, const EventMatcher& matches, bool with_busy = true);

/// Spreads items over as few lanes as possible so that none overlap. Enclosing items come in lanes
/// above those that they enclose.
std::vector<LaneItems> lanesOf(LaneItems items);

}  // namespace tracesmith
