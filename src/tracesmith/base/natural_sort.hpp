// SPDX-License-Identifier: Apache-2.0
// Sorts what consists of a few sorted runs, such as events of several streams one after another, by
// merging them: linear time for a constant number of runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace tracesmith {

/// Stable, like std::stable_sort(); with many short runs it is std::stable_sort().
template <class Iterator, class Less>
void naturalSort(Iterator first, Iterator last, Less less) {
  constexpr size_t kShortRun = 32;
  const auto size = static_cast<size_t>(std::distance(first, last));
  std::vector<Iterator> bounds = {first};
  while (bounds.back() != last) {
    bounds.push_back(std::is_sorted_until(bounds.back(), last, less));
    if (bounds.size() - 1 > size / kShortRun + 1) {
      std::stable_sort(first, last, less);
      return;
    }
  }
  while (bounds.size() > 2) {
    std::vector<Iterator> merged = {first};
    for (size_t i = 0; i + 1 < bounds.size(); i += 2) {
      const Iterator end = i + 2 < bounds.size() ? bounds[i + 2] : bounds[i + 1];
      if (i + 2 < bounds.size()) std::inplace_merge(bounds[i], bounds[i + 1], end, less);
      merged.push_back(end);
    }
    bounds = std::move(merged);
  }
}

}  // namespace tracesmith
