// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/diff/rank_comparison.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tracesmith {
namespace {

constexpr size_t kLeastForNormal = 5;
constexpr size_t kMostSteps = size_t{1} << 19;  // about 0.3 ms

uint64_t distanceOf(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

/// Twice the Mann-Whitney U, the number of pairs in which b is above a, ties counting half; and its
/// distribution by chance. Everything is doubled so that halves become integers.
class RankTest {
 public:
  /// `a` and `b` must be sorted and not empty.
  RankTest(const std::vector<double>& a, const std::vector<double>& b)
      : pairs_(static_cast<uint64_t>(a.size()) * b.size()) {
    const size_t smaller = std::min(a.size(), b.size());
    const size_t count = a.size() + b.size();
    const bool exact = 2 * count * count <= kMostSteps / smaller / smaller;
    double ties = 0;
    std::vector<size_t> ranks;  // doubled ranks of all values
    size_t i = 0;
    size_t j = 0;
    while (i < a.size() || j < b.size()) {
      const double value = j == b.size() || (i < a.size() && a[i] < b[j]) ? a[i] : b[j];
      const size_t below = i;
      const size_t before = i + j;
      while (i < a.size() && a[i] == value) ++i;
      while (j < b.size() && b[j] == value) ++j;
      const size_t equal = i + j - before;
      const size_t equal_b = equal - (i - below);
      twice_u_ += static_cast<uint64_t>(equal_b) * (below + i);
      const auto group = static_cast<double>(equal);
      ties += group * group * group - group;
      if (exact) ranks.insert(ranks.end(), equal, 2 * before + equal + 1);
    }
    if (exact) {
      countWays(ranks, smaller);
      return;
    }
    furthest_ = pairs_;
    if (smaller < kLeastForNormal) return;
    const auto all = static_cast<double>(count);
    const double variance = static_cast<double>(pairs_) / 12 * (all + 1 - ties / (all * (all - 1)));
    if (variance > 0) deviation_ = std::sqrt(variance);
  }

  uint64_t pairs() const { return pairs_; }
  uint64_t twiceU() const { return twice_u_; }
  uint64_t distance() const { return distanceOf(twice_u_, pairs_); }
  uint64_t furthest() const { return furthest_; }

  /// Probability of a doubled U at least this far from its mean.
  double chanceOf(uint64_t distance) const {
    double p = 1;
    if (!chances_.empty()) {
      p = distance < chances_.size() ? chances_[distance] : 0;
    } else if (deviation_ > 0) {
      const double corrected = std::max(0.0, static_cast<double>(distance) / 2 - 0.5);
      p = std::erfc(corrected / deviation_ / std::sqrt(2.0));
    }
    return std::max(p, std::numeric_limits<double>::min());
  }

  /// The smallest distance whose probability is at most `level`; above pairs() if there is none.
  uint64_t criticalDistance(double level) const {
    if (chanceOf(furthest_) > level) return pairs_ + 1;
    uint64_t low = 0;
    uint64_t high = furthest_;
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      if (chanceOf(middle) <= level) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

 private:
  /// Counts the ways to divide the values, by distance.
  void countWays(const std::vector<size_t>& ranks, size_t size) {
    // ways[k * width + s]: number of ways to choose k of the values with rank sum s.
    const size_t width = 2 * ranks.size() * size + 1;
    std::vector<double> ways((size + 1) * width, 0.0);
    ways[0] = 1;
    for (size_t seen = 0; seen < ranks.size(); ++seen) {
      for (size_t k = std::min(size, seen + 1); k > 0; --k) {
        const double* const without = &ways[(k - 1) * width];
        double* const with = &ways[k * width];
        for (size_t s = width; s-- > ranks[seen];) with[s] += without[s - ranks[seen]];
      }
    }
    const size_t mean = size * (ranks.size() + 1);
    const double* const of_size = &ways[size * width];
    chances_.assign(pairs_ + 1, 0.0);
    double all = 0;
    for (size_t s = 0; s < width; ++s) {
      if (of_size[s] == 0) continue;
      all += of_size[s];
      const uint64_t distance = distanceOf(s, mean);
      chances_[distance] += of_size[s];
      furthest_ = std::max(furthest_, distance);
    }
    for (size_t d = chances_.size() - 1; d > 0; --d) chances_[d - 1] += chances_[d];
    for (double& chance : chances_) chance /= all;
  }

  uint64_t pairs_ = 0;
  uint64_t twice_u_ = 0;
  uint64_t furthest_ = 0;
  std::vector<double> chances_;  // probability by distance; empty: uses the approximation
  double deviation_ = 0;         // standard deviation of U
};

/// All differences of sorted samples: b - a for each pair.
class Differences {
 public:
  Differences(const std::vector<double>& a, const std::vector<double>& b) : a_(a), b_(b) {}

  double least() const { return b_.front() - a_.back(); }
  double most() const { return b_.back() - a_.front(); }

  /// Twice the number of differences above d, plus the number equal to d.
  uint64_t twiceAbove(double d) const {
    uint64_t out = 0;
    size_t reach = 0;  // the first b with a difference of at least d
    size_t above = 0;
    for (const double value : a_) {
      while (reach < b_.size() && b_[reach] - value < d) ++reach;
      above = std::max(above, reach);
      while (above < b_.size() && b_[above] - value <= d) ++above;
      out += (b_.size() - reach) + (b_.size() - above);
    }
    return out;
  }
  /// The smallest difference that is at least d.
  double atLeast(double d) const {
    double out = std::numeric_limits<double>::infinity();
    size_t reach = 0;
    for (const double value : a_) {
      while (reach < b_.size() && b_[reach] - value < d) ++reach;
      if (reach == b_.size()) break;
      out = std::min(out, b_[reach] - value);
    }
    return out;
  }
  /// The largest difference below d.
  double below(double d) const {
    double out = -std::numeric_limits<double>::infinity();
    size_t reach = 0;
    for (const double value : a_) {
      while (reach < b_.size() && b_[reach] - value < d) ++reach;
      if (reach > 0) out = std::max(out, b_[reach - 1] - value);
    }
    return out;
  }

  /// The shift d beyond which twiceAbove(d) is below `target`, interpolated linearly between two
  /// differences. Limited to the smallest and the largest difference.
  double crossing(double target) const {
    const double next = atLeast(firstBelow(target));
    if (!(next <= most())) return most();
    const double before = below(next);
    if (!(before >= least())) return least();
    double low = before;
    double high = next;
    auto at_low = static_cast<double>(twiceAbove(low));
    auto at_high = static_cast<double>(twiceAbove(high));
    if (low < 0 && 0 < high) {
      // No difference is 0, but the value at 0 is known exactly.
      const auto here = static_cast<double>(twiceAbove(0));
      const double even = at_low + (at_high - at_low) * (0 - low) / (high - low);
      if (here == target) return 0;
      if ((here > target) != (even > target)) {
        if (here > target) low = 0, at_low = here;
        if (here <= target) high = 0, at_high = here;
      }
    }
    return low + (high - low) * (at_low - target) / (at_low - at_high);
  }

 private:
  /// Maps doubles to integers in the same order.
  static int64_t ordered(double value) {
    const auto bits = std::bit_cast<int64_t>(value + 0.0);  // makes -0 equal to +0
    return bits < 0 ? INT64_MIN - bits : bits;
  }
  static double valueOf(int64_t ordered) {
    return std::bit_cast<double>(ordered < 0 ? INT64_MIN - ordered : ordered);
  }
  /// The smallest d with twiceAbove(d) <= target; above most() if there is none.
  double firstBelow(double target) const {
    int64_t low = ordered(least());
    int64_t high = ordered(most()) + 1;
    while (low < high) {
      const auto half =
          static_cast<int64_t>((static_cast<uint64_t>(high) - static_cast<uint64_t>(low)) / 2);
      const int64_t middle = low + half;
      if (static_cast<double>(twiceAbove(valueOf(middle))) <= target) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return valueOf(low);
  }

  const std::vector<double>& a_;
  const std::vector<double>& b_;
};

}  // namespace

RankComparison compareRanks(std::vector<double>& a, std::vector<double>& b) {
  RankComparison out;
  if (a.empty() || b.empty()) return out;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const RankTest test(a, b);
  out.effect = static_cast<double>(test.twiceU()) / static_cast<double>(test.pairs()) - 1;
  out.p = test.chanceOf(test.distance());
  out.least_p = test.chanceOf(test.furthest());
  return out;
}

ShiftEstimate estimateShift(std::vector<double>& a, std::vector<double>& b, double level) {
  ShiftEstimate out;
  if (a.empty() || b.empty()) return out;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const RankTest test(a, b);
  const Differences differences(a, b);
  const auto pairs = static_cast<double>(test.pairs());
  out.shift = differences.crossing(pairs);
  const uint64_t critical = test.criticalDistance(level);
  if (critical > test.pairs()) return out;
  // A doubled U is an integer: use the middle between the last significant value and the next one.
  const double reach = static_cast<double>(critical) - 0.5;
  out.bounded = true;
  out.low = differences.crossing(pairs + reach);
  out.high = differences.crossing(pairs - reach);
  return out;
}

}  // namespace tracesmith
