// SPDX-License-Identifier: Apache-2.0
// What a set of values leaves of itself: count, sum, extremes, and a histogram from which quantiles
// follow. Two of them add up exactly, in any order and grouping, because all parts are integers.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace tracesmith {

/// Buckets of a width that grows with the value, as in HdrHistogram and (with other limits)
/// DDSketch: 64 for each power of two; values below 64 have their own. Any value of a bucket is
/// within kRelativeError of the bucket's representative.
namespace log_buckets {
constexpr uint32_t kBits = 6;
constexpr uint32_t kCount = ((64 - kBits) << kBits) + (1u << kBits);
constexpr double kRelativeError = 1.0 / (2u << kBits);  // half of a bucket's width: 1/128

constexpr uint32_t indexOf(uint64_t value) {
  if (value < (1u << kBits)) return static_cast<uint32_t>(value);
  const auto exponent = static_cast<uint32_t>(63 - __builtin_clzll(value));  // at least kBits
  const auto within = static_cast<uint32_t>(value >> (exponent - kBits)) & ((1u << kBits) - 1);
  return ((exponent - kBits + 1) << kBits) + within;
}
/// The least value of a bucket.
constexpr uint64_t firstOf(uint32_t index) {
  const uint32_t octave = index >> kBits;
  const uint64_t within = index & ((1u << kBits) - 1);
  return octave == 0 ? within : (within + (1u << kBits)) << (octave - 1);
}
/// The middle of a bucket.
constexpr uint64_t middleOf(uint32_t index) {
  const uint32_t octave = index >> kBits;
  return firstOf(index) + (octave <= 1 ? 0 : (uint64_t{1} << (octave - 1)) / 2);
}
}  // namespace log_buckets

/// An integer of 128 bits: a day of 100,000 ranks in ns does not fit into 64.
struct WideSum {
  uint64_t low = 0, high = 0;

  void add(uint64_t value) {
    low += value;
    high += low < value ? 1 : 0;
  }
  void add(const WideSum& other) {
    add(other.low);
    high += other.high;
  }
  double asDouble() const {
    return static_cast<double>(high) * 18446744073709551616.0 + static_cast<double>(low);
  }
  /// INT64_MAX if it does not fit.
  int64_t asInt64() const {
    return high != 0 || low > INT64_MAX ? INT64_MAX : static_cast<int64_t>(low);
  }
  bool operator==(const WideSum&) const = default;
};

struct ValueSums {
  uint64_t count = 0;
  WideSum sum;
  uint64_t min = UINT64_MAX, max = 0;
  std::vector<std::pair<uint32_t, uint64_t>> buckets;  ///< index and count, by index; no zeros

  void add(const ValueSums& other);
  /// The nearest-rank quantile (the smallest value that at least share * count values do not
  /// exceed), within log_buckets::kRelativeError of the true one; 0 without values.
  uint64_t quantile(double share) const;
  double mean() const { return count == 0 ? 0 : sum.asDouble() / static_cast<double>(count); }
  bool operator==(const ValueSums&) const = default;
};

/// Collects single values for a ValueSums.
class ValueCollector {
 public:
  /// Negative values count as 0.
  void add(int64_t signed_value) {
    const uint64_t value = signed_value < 0 ? 0 : static_cast<uint64_t>(signed_value);
    ++count_;
    sum_.add(value);
    min_ = value < min_ ? value : min_;
    max_ = value > max_ ? value : max_;
    const uint32_t index = log_buckets::indexOf(value);
    if (index - first_ >= counts_.size()) makeRoom(index);
    ++counts_[index - first_];
  }
  ValueSums sums() const;

 private:
  void makeRoom(uint32_t index);

  uint64_t count_ = 0;
  WideSum sum_;
  uint64_t min_ = UINT64_MAX, max_ = 0;
  uint32_t first_ = 0;  // index of counts_[0]
  std::vector<uint64_t> counts_;
};

}  // namespace tracesmith
