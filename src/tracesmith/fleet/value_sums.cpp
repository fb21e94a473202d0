// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/fleet/value_sums.hpp"

#include <algorithm>
#include <cmath>

namespace tracesmith {

void ValueSums::add(const ValueSums& other) {
  count += other.count;
  sum.add(other.sum);
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  // A sum of many has most buckets of one more.
  auto a = buckets.begin();
  auto b = other.buckets.begin();
  for (; b != other.buckets.end(); ++b) {
    while (a != buckets.end() && a->first < b->first) ++a;
    if (a == buckets.end() || a->first != b->first) break;
    a->second += b->second;
  }
  if (b == other.buckets.end()) return;
  std::vector<std::pair<uint32_t, uint64_t>> both(buckets.begin(), a);
  both.reserve(buckets.size() + static_cast<size_t>(other.buckets.end() - b));
  while (a != buckets.end() || b != other.buckets.end()) {
    if (b == other.buckets.end() || (a != buckets.end() && a->first < b->first)) {
      both.push_back(*a++);
    } else if (a == buckets.end() || b->first < a->first) {
      both.push_back(*b++);
    } else {
      both.emplace_back(a->first, a->second + b->second);
      ++a;
      ++b;
    }
  }
  buckets = std::move(both);
}

uint64_t ValueSums::quantile(double share) const {
  if (count == 0) return 0;
  const double rank = std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count));
  const uint64_t wanted = std::max<uint64_t>(1, static_cast<uint64_t>(rank));
  uint64_t passed = 0;
  for (const auto& [index, n] : buckets) {
    passed += n;
    if (passed >= wanted) return std::clamp(log_buckets::middleOf(index), min, max);
  }
  return max;
}

void ValueCollector::makeRoom(uint32_t index) {
  if (counts_.empty()) {
    first_ = index;
    counts_.resize(1);
    return;
  }
  // Further than needed, so that values that spread slowly do not move it each time.
  constexpr uint32_t kMore = 16;
  if (index < first_) {
    const uint32_t first = index < kMore ? 0 : index - kMore;
    counts_.insert(counts_.begin(), first_ - first, 0);
    first_ = first;
  } else {
    counts_.resize(index - first_ + 1 + kMore);
  }
}

ValueSums ValueCollector::sums() const {
  ValueSums out{.count = count_, .sum = sum_, .min = min_, .max = max_};
  for (uint32_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] != 0) out.buckets.emplace_back(first_ + i, counts_[i]);
  }
  return out;
}

}  // namespace tracesmith
