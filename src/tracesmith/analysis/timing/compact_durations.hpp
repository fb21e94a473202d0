// SPDX-License-Identifier: Apache-2.0
// Very many durations, in 4 bytes each if they are shorter than 4.29 s.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace tracesmith {

class CompactDurations {
 public:
  void add(int64_t duration_ns) {
    ++size_;
    if (duration_ns < 0 || duration_ns > UINT32_MAX) {
      others_.push_back(duration_ns);
      return;
    }
    if (parts_.empty() || parts_.back().size() == parts_.back().capacity()) {
      // Parts, because a vector that grows needs room for both copies.
      parts_.emplace_back();
      parts_.back().reserve(std::clamp<size_t>(size_, 16, size_t{1} << 16));
    }
    parts_.back().push_back(static_cast<uint32_t>(duration_ns));
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void add(CompactDurations&& others) {
    size_ += others.size_;
    // The last part is the one that has room.
    parts_.insert(parts_.begin(), std::make_move_iterator(others.parts_.begin()),
                  std::make_move_iterator(others.parts_.end()));
    others_.insert(others_.end(), others.others_.begin(), others.others_.end());
    others = {};
  }
  /// Appends all to `out`, and has none afterwards.
  template <class T>
  void moveTo(std::vector<T>& out) {
    out.reserve(out.size() + size_);
    for (std::vector<uint32_t>& part : parts_) {
      out.insert(out.end(), part.begin(), part.end());
      part = {};
    }
    out.insert(out.end(), others_.begin(), others_.end());
    *this = {};
  }

  /// All in ascending order: first `negative` of `others`, then `most`, then the rest of `others`.
  struct Sorted {
    std::vector<uint32_t> most;
    std::vector<int64_t> others;
    size_t negative = 0;

    size_t size() const { return most.size() + others.size(); }
    int64_t at(size_t i) const {
      if (i < negative) return others[i];
      return i - negative < most.size() ? int64_t{most[i - negative]} : others[i - most.size()];
    }
  };
  /// Has none afterwards.
  Sorted takeSorted();

 private:
  std::vector<std::vector<uint32_t>> parts_;
  std::vector<int64_t> others_;
  size_t size_ = 0;
};

}  // namespace tracesmith
