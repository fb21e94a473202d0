// SPDX-License-Identifier: Apache-2.0 The open slices of one track; decides which slice an end
// event closes. The rules are those of Perfetto's trace_processor, so that both show the same
// slices:
//
// - An end belongs to the innermost open slice that it may belong to: their names are equal or one
//   has none, and the end has no category or the slice's. Where there is none it ends nothing.
// - A slice around others may end before they do. They end with it, if something follows on the
//   track later than that and their own ends have not come until then.
// - A slice that came with its duration ends what has begun within it, in the same way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tracesmith/model/ids.hpp"

namespace tracesmith::import {

/// `Event`: what is kept of a slice until its end. Events are given in order of time.
template <class Event>
class SliceStack {
 public:
  /// As deep as trace_processor looks; it bounds the work for each event.
  static constexpr size_t kDeepest = 512;

  struct Begun {
    Begun(int64_t at_ns, Event&& of) : start_ns(at_ns), event(std::move(of)) {}
    int64_t start_ns = 0;
    Event event;
  };

  /// Must be called before each event: calls ended(Begun&&, end_ns) for slices that a slice around
  /// them has ended.
  template <class Ended>
  void advance(int64_t now_ns, bool instant, Ended&& ended) {
    if (closed_ == 0) return;
    size_t pending = 0;  // above the place that is looked at
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
          ended(std::move(begun_.back()), end_ns);
          begun_.pop_back();
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
    begun_.emplace_back(now_ns, std::move(event));
  }

  /// A slice that has its end. One that overlaps another without lying within it ends nothing.
  void add(int64_t now_ns, int64_t end_ns) {
    if (slices_.size() >= kDeepest) return;
    if (!slices_.empty() && !slices_.back().pending) {
      const int64_t around_ns = slices_.back().end_ns;
      if (now_ns < around_ns && end_ns > around_ns) return;
    }
    slices_.push_back({now_ns, end_ns, StringId::kNone, StringId::kNone, false});
    ++closed_;
  }

  /// What an event of that name and category ends; none: nothing.
  std::optional<Begun> end(int64_t now_ns, StringId name, StringId category) {
    const size_t bottom = slices_.size() > kDeepest ? slices_.size() - kDeepest : 0;
    size_t later = 0;  // of begun_
    for (size_t i = slices_.size(); i-- > bottom;) {
      Slice& slice = slices_[i];
      if (!slice.pending) continue;
      ++later;
      if (category != StringId::kNone && category != slice.category) continue;
      if (name != StringId::kNone && slice.name != StringId::kNone && name != slice.name) continue;
      const auto at = begun_.end() - static_cast<ptrdiff_t>(later);
      std::optional<Begun> found = std::move(*at);
      begun_.erase(at);
      if (i + 1 == slices_.size()) {
        slices_.pop_back();
      } else {
        slice.pending = false;  // those within it have not ended yet
        slice.end_ns = now_ns;
        ++closed_;
      }
      return found;
    }
    return std::nullopt;
  }

  /// What never ended, outermost first.
  std::vector<Begun>& open() { return begun_; }

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

  std::vector<Slice> slices_;  // outermost first
  std::vector<Begun> begun_;   // those that are pending
  size_t closed_ = 0;          // of slices_ are not
};

}  // namespace tracesmith::import
