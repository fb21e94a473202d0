// SPDX-License-Identifier: Apache-2.0
// The open slices of one track; decides which slice an end event closes. The rules are those of
// Perfetto's trace_processor, so that both show the same slices:
//
// - An end closes the innermost open slice that matches: the names are equal or one of them is
//   missing, and the end has no category or that of the slice. If no slice matches, the end closes
//   nothing.
// - A slice may end before slices inside it. These end with it if, before their own ends come,
//   something later than its end follows on the track.
// - A slice that has a duration ends the slices that started inside it, in the same way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tracesmith/model/ids.hpp"

namespace tracesmith::import {

/// `Event`: data kept for a slice until it ends. Calls must be in time order.
template <class Event>
class SliceStack {
 public:
  /// The depth that trace_processor searches; bounds the work per event.
  static constexpr size_t kDeepest = 512;

  struct StartedSlice {
    StartedSlice(int64_t at_ns, Event&& of) : start_ns(at_ns), event(std::move(of)) {}
    int64_t start_ns = 0;
    Event event;
  };

  /// Call before each event. Calls ended(Begun&&, end_ns) for slices that ended with an enclosing
  /// slice.
  template <class Ended>
  void advance(int64_t now_ns, bool instant, Ended&& ended) {
    if (closed_ == 0) return;
    size_t pending = 0;  // number of pending slices above slices_[i]
    const size_t bottom = slices_.size() > kDeepest ? slices_.size() - kDeepest : 0;
    for (size_t i = slices_.size(); i-- > bottom && closed_ > 0;) {
      const Slice& slice = slices_[i];
      if (slice.pending) {
        ++pending;
        continue;
      }
      if (pending > 0) {
        if (now_ns <= slice.end_ns) continue;
        const int64_t end_ns = slice.end_ns;
        for (; pending > 0; --pending) {
          ended(std::move(started_.back()), end_ns);
          started_.pop_back();
        }
        while (slices_.size() > i) pop();
      } else if (i + 1 == slices_.size() &&
                 (slice.end_ns < now_ns ||
                  (slice.end_ns == now_ns && !(instant && slice.start_ns == slice.end_ns)))) {
        pop();
      }
    }
  }

  void begin(int64_t now_ns, StringId name, StringId category, Event&& event) {
    slices_.push_back({now_ns, 0, name, category, true});
    started_.emplace_back(now_ns, std::move(event));
  }

  /// Adds a slice with a known end. A slice that only partially overlaps another one closes
  /// nothing.
  void add(int64_t now_ns, int64_t end_ns) {
    if (slices_.size() >= kDeepest) return;
    if (!slices_.empty() && !slices_.back().pending) {
      const int64_t around_ns = slices_.back().end_ns;
      if (now_ns < around_ns && end_ns > around_ns) return;
    }
    slices_.push_back({now_ns, end_ns, StringId::kNone, StringId::kNone, false});
    ++closed_;
  }

  /// Closes and returns the slice that an end with that name and category matches; nullopt if none.
  std::optional<StartedSlice> end(int64_t now_ns, StringId name, StringId category) {
    const size_t bottom = slices_.size() > kDeepest ? slices_.size() - kDeepest : 0;
    size_t later = 0;  // number of started_ entries from this slice on
    for (size_t i = slices_.size(); i-- > bottom;) {
      Slice& slice = slices_[i];
      if (!slice.pending) continue;
      ++later;
      if (category != StringId::kNone && category != slice.category) continue;
      if (name != StringId::kNone && slice.name != StringId::kNone && name != slice.name) continue;
      const auto at = started_.end() - static_cast<ptrdiff_t>(later);
      std::optional<StartedSlice> found = std::move(*at);
      started_.erase(at);
      if (i + 1 == slices_.size()) {
        slices_.pop_back();
      } else {
        slice.pending = false;  // slices inside it have not ended yet
        slice.end_ns = now_ns;
        ++closed_;
      }
      return found;
    }
    return std::nullopt;
  }

  /// Slices that have not ended, outermost first.
  std::vector<StartedSlice>& open() { return started_; }

 private:
  struct Slice {
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    StringId name{};
    StringId category{};
    bool pending = false;
  };

  void pop() {
    if (!slices_.back().pending) --closed_;
    slices_.pop_back();
  }

  std::vector<Slice> slices_;          // outermost first
  std::vector<StartedSlice> started_;  // the pending ones of slices_
  size_t closed_ = 0;                  // number of slices_ that are not pending
};

}  // namespace tracesmith::import
