// SPDX-License-Identifier: Apache-2.0
// The call stacks of a thread over time. A function is shown from the first to the last of the
// neighbouring calls that came through it: between two of them the thread may have left it, which
// no stack tells.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracesmith/export/browse/timeline_rows.hpp"
#include "tracesmith/model/frame_symbols.hpp"

namespace tracesmith::studio {

struct StackSpan {
  static constexpr uint32_t kSeveral = ~uint32_t{0};

  int64_t begin_ns = 0, end_ns = 0;
  uint32_t depth = 0;  ///< 0: the outermost function
  uint32_t name = 0;   ///< kSeveral: of short spans with different names that are shown as one
  bool began_before = false;  ///< before the part that was asked for; begin_ns is within it
  bool goes_on = false;       ///< after that part
};

/// Whether a row of the timeline has calls of a thread, whose stacks can be shown.
bool hasCalls(const TimelineRow& row);

/// For one thread at a time.
class StackLanes {
 public:
  /// Deeper functions are left out.
  static constexpr size_t kMostDepth = 64;

  /// `trace` must outlive the object, and be whole.
  explicit StackLanes(const Trace& trace);

  /// Functions in [begin_ns, end_ns), by depth, then by time. Neighbours shorter than a part in
  /// `columns` of that time are joined. Calls without a stack are passed over. Takes time for
  /// each call in the part.
  std::vector<StackSpan> within(const TimelineLane& lane, int64_t begin_ns, int64_t end_ns,
                                size_t columns);
  std::string_view name(uint32_t number) const { return texts_[number]; }

 private:
  using Names = std::vector<uint32_t>;  // outermost first
  /// Empty: the item has no stack.
  const Names& namesOf(const DeviceSpan& item);

  const Trace& trace_;
  const FrameSymbols symbols_;
  const CallPathTable paths_;
  std::unordered_map<CallPathId, Names> names_;
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<std::string_view> texts_;  // keys of numbers_
};

}  // namespace tracesmith::studio
