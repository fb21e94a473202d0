// SPDX-License-Identifier: Apache-2.0
// Medians of measurements by key: the typical cost of a launch or a gap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <unordered_map>
#include <vector>

namespace tracesmith {

class TypicalCosts {
 public:
  /// Fewer measurements than this are not enough for a median.
  static constexpr size_t kFewest = 3;

  static uint64_t key(uint64_t a, uint64_t b, uint64_t c = 0) {
    return ((a * 0x9e3779b97f4a7c15ULL + b) * 0xbf58476d1ce4e5b9ULL + c) * 0x94d049bb133111ebULL;
  }

  void add(uint64_t key, int64_t cost) { costs_[key].push_back(cost); }

  /// The median of the first key with enough measurements; for the last key any number is enough.
  int64_t of(std::initializer_list<uint64_t> keys, int64_t otherwise) {
    size_t left = keys.size();
    for (const uint64_t key : keys) {
      --left;
      const auto it = costs_.find(key);
      if (it == costs_.end() || it->second.size() < (left == 0 ? 1 : kFewest)) continue;
      return medianOf(key, it->second);
    }
    return otherwise;
  }
  /// The 10th percentile.
  int64_t low(uint64_t key, int64_t otherwise) {
    const auto it = costs_.find(key);
    if (it == costs_.end()) return otherwise;
    const auto [low, fresh] = lows_.try_emplace(key, 0);
    if (fresh) low->second = nth(it->second, it->second.size() / 10);
    return low->second;
  }
  size_t count(uint64_t key) const {
    const auto it = costs_.find(key);
    return it == costs_.end() ? 0 : it->second.size();
  }
  /// Interquartile range; 0 if there are no measurements.
  int64_t spread(uint64_t key) {
    const auto it = costs_.find(key);
    if (it == costs_.end()) return 0;
    std::vector<int64_t>& all = it->second;
    return nth(all, all.size() * 3 / 4) - nth(all, all.size() / 4);
  }

 private:
  static int64_t nth(std::vector<int64_t>& all, size_t n) {
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(std::min(n, all.size() - 1));
    std::nth_element(all.begin(), at, all.end());
    return *at;
  }
  int64_t medianOf(uint64_t key, std::vector<int64_t>& all) {
    const auto [it, fresh] = medians_.try_emplace(key, 0);
    if (fresh) it->second = nth(all, all.size() / 2);
    return it->second;
  }

  std::unordered_map<uint64_t, std::vector<int64_t>> costs_;
  std::unordered_map<uint64_t, int64_t> medians_, lows_;  // computed on demand
};

}  // namespace tracesmith
