// SPDX-License-Identifier: Apache-2.0
// Very many durations, in 4 bytes each if they are shorter than 4.29 s.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
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
  /// The values at these positions of the durations in ascending order, in the order of
  /// `positions`; each is less than size(). In linear time, and without sorting all.
  std::vector<int64_t> valuesAt(std::span<const size_t> positions) const;

  /// Exact as long as the sum of squares is less than 2^127.
  struct Moments {
    long double sum = 0;
    long double mean = 0;
    long double squares = 0;  ///< sum of squared differences from the mean
  };
  Moments moments() const;
  /// The sum of those above 0, INT64_MAX if it is larger.
  int64_t total() const;

 private:
  template <class F>
  void forEach(F&& f) const {
    for (const std::vector<uint32_t>& part : parts_) {
      for (const uint32_t value : part) f(int64_t{value});
    }
    for (const int64_t value : others_) f(value);
  }
  std::vector<uint32_t> shortAt(std::vector<size_t> ascending) const;

  std::vector<std::vector<uint32_t>> parts_;
  std::vector<int64_t> others_;
  size_t size_ = 0;
};

}  // namespace tracesmith
