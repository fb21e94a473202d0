// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/stack_lanes.hpp"

#include <algorithm>
#include <limits>

#include "tracesmith/analysis/timing/call_path_costs.hpp"
#include "tracesmith/analysis/timing/runtime_frames.hpp"

namespace tracesmith::studio {
namespace {

/// Follows a thread from stack to stack, and notes each function that it leaves.
class StackWalk {
 public:
  /// Of a part of the time.
  StackWalk(int64_t end_ns, int64_t least_ns)
      : end_ns_(end_ns), least_ns_(least_ns), left_(StackLanes::kMostDepth) {}

  /// From `begin_ns` to `end_ns` the thread is in these functions, outermost first.
  void at(const std::vector<uint32_t>& names, int64_t begin_ns, int64_t end_ns, bool before) {
    if (&names != now_) {
      leave(common(names), reached_ns_);
      for (size_t i = open_.size(); i < names.size(); ++i) {
        open_.push_back({names[i], begin_ns, before});
      }
      now_ = &names;
    }
    reached_ns_ = end_ns;
  }
  /// The next stack after the part is that.
  void end(const std::vector<uint32_t>& names) {
    leave(common(names), reached_ns_);
    leave(0, std::numeric_limits<int64_t>::max());
  }
  std::vector<StackSpan> spans() const {
    std::vector<StackSpan> out;
    for (const Depth& depth : left_) out.insert(out.end(), depth.spans.begin(), depth.spans.end());
    return out;
  }

 private:
  struct Open {
    uint32_t name = 0;
    int64_t begin_ns = 0;
    bool began_before = false;
  };
  struct Depth {
    std::vector<StackSpan> spans;
    bool joins = false;  // the last one is short
  };

  /// How many of the open functions are in `names`.
  size_t common(const std::vector<uint32_t>& names) const {
    size_t n = 0;
    while (n < open_.size() && n < names.size() && open_[n].name == names[n]) ++n;
    return n;
  }
  void leave(size_t keep, int64_t at_ns) {
    const int64_t end_ns = std::min(at_ns, end_ns_);
    while (open_.size() > keep) {
      const Open last = open_.back();
      open_.pop_back();
      if (last.began_before && last.begin_ns == end_ns) continue;  // it ended before the part
      add({.begin_ns = last.begin_ns,
           .end_ns = end_ns,
           .depth = static_cast<uint32_t>(open_.size()),
           .name = last.name,
           .began_before = last.began_before,
           .goes_on = at_ns > end_ns_});
    }
  }
  void add(const StackSpan& span) {
    auto& [spans, joins] = left_[span.depth];
    const bool is_short = lengthOf(span.begin_ns, span.end_ns) < least_ns_;
    if (is_short && joins && lengthOf(spans.back().end_ns, span.begin_ns) <= least_ns_) {
      StackSpan& last = spans.back();
      if (last.name != span.name) last.name = StackSpan::kSeveral;
      last.end_ns = span.end_ns;
      last.goes_on = span.goes_on;
      return;
    }
    spans.push_back(span);
    joins = is_short;
  }

  const int64_t end_ns_;
  const int64_t least_ns_;
  std::vector<Open> open_;
  std::vector<Depth> left_;
  const std::vector<uint32_t>* now_ = nullptr;
  int64_t reached_ns_ = 0;
};

}  // namespace

bool hasCalls(const TimelineRow& row) {
  return !row.heading && !row.on_device && row.first_lane && !row.lane.items().empty() &&
         row.lane.items()[0].table == TableId::kHostCall;
}

StackLanes::StackLanes(const Trace& trace)
    : trace_(trace), symbols_(trace), paths_(withoutRuntimeFrames(trace)) {}

const StackLanes::Names& StackLanes::namesOf(const DeviceSpan& item) {
  static const Names kNone;
  if (item.table != TableId::kHostCall) return kNone;
  const CallPathId path = trace_.host_call.call_path_id[item.row];
  if (path == CallPathId::kNone) return kNone;
  const auto [known, fresh] = names_.try_emplace(path);
  if (!fresh) return known->second;
  std::vector<FrameFunction> functions;
  for (const FrameId frame : framesOf(paths_, path)) {
    functions.clear();
    symbols_.functions(frame, functions);
    for (auto f = functions.rbegin(); f != functions.rend(); ++f) {
      if (known->second.size() == kMostDepth) return known->second;
      const auto [text, is_new] =
          numbers_.try_emplace(symbols_.label(frame, *f), static_cast<uint32_t>(texts_.size()));
      if (is_new) texts_.push_back(text->first);
      known->second.push_back(text->second);
    }
  }
  return known->second;
}

std::vector<StackSpan> StackLanes::within(const TimelineLane& lane, int64_t begin_ns,
                                          int64_t end_ns, size_t columns) {
  const LaneItems& items = lane.items();
  const auto [first, last] = lane.within(begin_ns, end_ns);
  // The neighbours of the part tell what goes on beyond it.
  static const Names kNone;
  const auto nearest = [&](size_t from, int step) -> const Names& {
    constexpr size_t kMostTried = 1000;
    size_t at = from;
    for (size_t n = 0; n < kMostTried && at < items.size(); ++n, at += static_cast<size_t>(step)) {
      if (const Names& names = namesOf(items[at]); !names.empty()) return names;
    }
    return kNone;
  };
  StackWalk walk(end_ns,
                 std::max<int64_t>(lengthOf(begin_ns, end_ns) / static_cast<int64_t>(columns), 1));
  walk.at(nearest(first - 1, -1), begin_ns, begin_ns, true);
  for (size_t i = first; i < last; ++i) {
    const DeviceSpan item = items[i];
    const Names& names = namesOf(item);
    if (names.empty()) continue;
    const bool before = item.begin_ns < begin_ns;
    walk.at(names, std::max(item.begin_ns, begin_ns), item.end_ns, before);
  }
  walk.end(nearest(last, 1));
  return walk.spans();
}

}  // namespace tracesmith::studio
