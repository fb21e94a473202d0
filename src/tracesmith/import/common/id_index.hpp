// SPDX-License-Identifier: Apache-2.0
// Looks up rows of a table by id. It is a sorted vector to save memory, because ids come mostly in
// order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace tracesmith::import {

template <class T>
class IdIndex {
 public:
  void add(int64_t id, T value) {
    if (!rows_.empty() && id < rows_.back().first) sorted_ = false;
    rows_.emplace_back(id, std::move(value));
  }
  /// nullptr if there is none. If several rows have the same id, the first one counts.
  const T* find(int64_t id) {
    const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
    if (!sorted_) {
      std::stable_sort(rows_.begin(), rows_.end(), before);
      sorted_ = true;
    }
    const auto it = std::lower_bound(rows_.begin(), rows_.end(), id,
                                     [](const auto& row, int64_t v) { return row.first < v; });
    return it != rows_.end() && it->first == id ? &it->second : nullptr;
  }
  size_t size() const { return rows_.size(); }

 private:
  std::vector<std::pair<int64_t, T>> rows_;
  bool sorted_ = true;
};

}  // namespace tracesmith::import
