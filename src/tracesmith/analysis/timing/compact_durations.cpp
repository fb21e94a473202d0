// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/compact_durations.hpp"

#include <bit>
#include <cmath>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

std::vector<int64_t> CompactDurations::valuesAt(std::span<const size_t> positions) const {
  std::vector<int64_t> others = others_;
  std::sort(others.begin(), others.end());
  const auto negative =
      static_cast<size_t>(std::lower_bound(others.begin(), others.end(), 0) - others.begin());
  const size_t shorts = size_ - others.size();
  const auto isShort = [&](size_t i) { return i >= negative && i - negative < shorts; };
  std::vector<size_t> ascending;
  for (const size_t i : positions) {
    if (isShort(i)) ascending.push_back(i - negative);
  }
  std::sort(ascending.begin(), ascending.end());
  ascending.erase(std::unique(ascending.begin(), ascending.end()), ascending.end());
  const std::vector<uint32_t> values = shortAt(ascending);
  std::vector<int64_t> out;
  for (const size_t i : positions) {
    if (isShort(i)) {
      const auto at = std::lower_bound(ascending.begin(), ascending.end(), i - negative);
      out.push_back(values[static_cast<size_t>(at - ascending.begin())]);
    } else {
      out.push_back(others[i < negative ? i : i - shorts]);
    }
  }
  return out;
}

/// Counts values by their leading bits, then sorts only those that share them with a wanted one.
std::vector<uint32_t> CompactDurations::shortAt(std::vector<size_t> ascending) const {
  if (ascending.empty()) return {};
  uint32_t largest = 0;
  for (const std::vector<uint32_t>& part : parts_) {
    for (const uint32_t value : part) largest = std::max(largest, value);
  }
  constexpr int kBits = 14;
  const int shift = std::max(static_cast<int>(std::bit_width(largest)) - kBits, 0);
  std::vector<size_t> counts((size_t{1} << kBits) + 1);
  for (const std::vector<uint32_t>& part : parts_) {
    for (const uint32_t value : part) ++counts[value >> shift];
  }
  struct Bucket {
    size_t begin = 0;  // position of its smallest value
    std::vector<uint32_t> values;
  };
  std::vector<Bucket> buckets;
  std::vector<uint8_t> bucket_of(counts.size());  // 1 more than the index in `buckets`
  size_t begin = 0, wanted = 0;
  for (size_t i = 0; i < counts.size() && wanted < ascending.size(); begin += counts[i++]) {
    if (ascending[wanted] >= begin + counts[i]) continue;
    buckets.push_back({begin, {}});
    buckets.back().values.reserve(shift == 0 ? 0 : counts[i]);
    bucket_of[i] = static_cast<uint8_t>(buckets.size());
    while (wanted < ascending.size() && ascending[wanted] < begin + counts[i]) ++wanted;
  }
  if (shift != 0) {
    for (const std::vector<uint32_t>& part : parts_) {
      for (const uint32_t value : part) {
        if (const uint8_t bucket = bucket_of[value >> shift]; bucket != 0) {
          buckets[bucket - 1].values.push_back(value);
        }
      }
    }
  }
  std::vector<uint32_t> out;
  size_t number = 0;
  for (size_t i = 0; i < bucket_of.size(); ++i) {
    if (bucket_of[i] == 0) continue;
    Bucket& bucket = buckets[bucket_of[i] - 1];
    for (auto from = bucket.values.begin();
         number < ascending.size() && ascending[number] < bucket.begin + counts[i]; ++number) {
      if (shift == 0) {
        out.push_back(static_cast<uint32_t>(i));
        continue;
      }
      const auto at =
          bucket.values.begin() + static_cast<std::ptrdiff_t>(ascending[number] - bucket.begin);
      std::nth_element(from, at, bucket.values.end());
      out.push_back(*at);
      from = at;
    }
  }
  return out;
}

CompactDurations::Moments CompactDurations::moments() const {
  if (size_ == 0) return {};
  __int128 sum = 0;
  forEach([&](int64_t value) { sum += value; });
  const auto count = static_cast<__int128>(size_);
  // Differences from a whole number near the mean stay small, and their sums exact.
  const __int128 center = sum / count;
  __int128 differences = 0, squares = 0;
  forEach([&](int64_t value) {
    const __int128 difference = value - center;
    differences += difference;
    __int128 square = 0;
    if (__builtin_mul_overflow(difference, difference, &square) ||
        __builtin_add_overflow(squares, square, &squares)) {
      squares = static_cast<__int128>(~static_cast<unsigned __int128>(0) >> 1);
    }
  });
  Moments out;
  out.sum = static_cast<long double>(sum);
  out.mean = out.sum / static_cast<long double>(size_);
  const auto rest = static_cast<long double>(differences);
  out.squares = static_cast<long double>(squares) - rest * rest / static_cast<long double>(size_);
  return out;
}

int64_t CompactDurations::total() const {
  int64_t total = 0;
  forEach([&](int64_t value) { total = endOf(total, value); });
  return total;
}

}  // namespace tracesmith
