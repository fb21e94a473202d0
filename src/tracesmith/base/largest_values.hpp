// SPDX-License-Identifier: Apache-2.0
// Keeps the largest of very many values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tracesmith {

/// `isLarger(a, b)`: whether `a` comes before `b` in the result.
template <class T, class IsLarger>
class LargestValues {
 public:
  LargestValues(size_t most, IsLarger is_larger) : most_(most), is_larger_(std::move(is_larger)) {}

  void add(const T& value) {
    ++count_;
    if (values_.size() < most_) {
      values_.push_back(value);
      std::push_heap(values_.begin(), values_.end(), is_larger_);
    } else if (most_ > 0 && is_larger_(value, values_.front())) {
      std::pop_heap(values_.begin(), values_.end(), is_larger_);
      values_.back() = value;
      std::push_heap(values_.begin(), values_.end(), is_larger_);
    }
  }
  size_t count() const { return count_; }  ///< how many were added
  /// The largest first. Has none afterwards.
  std::vector<T> take() {
    std::sort_heap(values_.begin(), values_.end(), is_larger_);
    return std::exchange(values_, {});
  }

 private:
  const size_t most_;
  IsLarger is_larger_;
  std::vector<T> values_;  // a heap, the smallest in front
  size_t count_ = 0;
};

}  // namespace tracesmith
