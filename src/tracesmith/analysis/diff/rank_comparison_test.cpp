// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/diff/rank_comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace tracesmith {
namespace {

TEST(CompareRanks, KnowsTheSameFromTheDifferent) {
  std::vector<double> a, b;
  for (int i = 0; i < 20; ++i) a.push_back(i), b.push_back(i + 100);
  RankComparison c = compareRanks(a, b);
  EXPECT_DOUBLE_EQ(c.effect, 1);
  EXPECT_LT(c.p, 1e-6);
  c = compareRanks(b, a);
  EXPECT_DOUBLE_EQ(c.effect, -1);
  std::vector<double> same = a;
  c = compareRanks(a, same);
  EXPECT_DOUBLE_EQ(c.effect, 0);
  EXPECT_DOUBLE_EQ(c.p, 1);
  std::vector<double> equal(10, 5.0), equal_too(10, 5.0);
  EXPECT_DOUBLE_EQ(compareRanks(equal, equal_too).p, 1) << "nothing but ties";
  std::vector<double> few = {1, 2}, others(5000, 8);
  EXPECT_DOUBLE_EQ(compareRanks(few, others).p, 1) << "too few for the approximation";
}

TEST(CompareRanks, ChanceLooksLikeChance) {
  std::mt19937 random(3);
  std::lognormal_distribution<double> durations(2, 1);
  int small = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> a, b;
    for (int i = 0; i < 12; ++i) {
      a.push_back(std::floor(durations(random)));  // with ties
      b.push_back(std::floor(durations(random)));
    }
    small += compareRanks(a, b).p < 0.05;
  }
  EXPECT_GT(small, 50);
  EXPECT_LT(small, 130) << "5 % of 2000, within what chance allows";
}

/// Reference: enumerates all ways to divide the values.
TEST(CompareRanks, SmallSamplesAreExact) {
  std::mt19937 chance(23);
  for (int round = 0; round < 60; ++round) {
    std::vector<double> a, b, all;
    for (size_t i = 0; i < 1 + chance() % 6; ++i) a.push_back(static_cast<double>(chance() % 9));
    for (size_t i = 0; i < 1 + chance() % 6; ++i) b.push_back(static_cast<double>(chance() % 9));
    all = a;
    all.insert(all.end(), b.begin(), b.end());
    const auto distance = [&](const std::vector<double>& x, const std::vector<double>& y) {
      double u = -static_cast<double>(x.size() * y.size()) / 2;
      for (const double v : x) {
        for (const double w : y) u += w > v ? 1 : w == v ? 0.5 : 0;
      }
      return std::abs(u);
    };
    double ways = 0, as_far = 0, furthest = 0, at_the_end = 0;
    for (int pass = 0; pass < 2; ++pass) {
      for (uint32_t mask = 0; mask < 1U << all.size(); ++mask) {
        std::vector<double> x, y;
        for (size_t i = 0; i < all.size(); ++i) (mask >> i & 1 ? x : y).push_back(all[i]);
        if (x.size() != a.size()) continue;
        if (pass == 0) {
          furthest = std::max(furthest, distance(x, y));
          continue;
        }
        ++ways;
        as_far += distance(x, y) >= distance(a, b);
        at_the_end += distance(x, y) >= furthest;
      }
    }
    const RankComparison c = compareRanks(a, b);
    ASSERT_DOUBLE_EQ(c.p, as_far / ways);
    ASSERT_DOUBLE_EQ(c.least_p, at_the_end / ways);
  }
}

TEST(CompareRanks, TheApproximationMeetsTheExactOne) {
  std::mt19937 chance(29);
  for (int round = 0; round < 20; ++round) {
    std::vector<double> a, b;
    for (int i = 0; i < 15; ++i) a.push_back(static_cast<double>(chance() % 1000));
    for (int i = 0; i < 15; ++i) b.push_back(static_cast<double>(chance() % 1000 + 100));
    const double exact = compareRanks(a, b).p;
    const double u = (compareRanks(a, b).effect + 1) * 15 * 15 / 2;
    const double z = (std::abs(u - 112.5) - 0.5) / std::sqrt(15.0 * 15 * 31 / 12);
    EXPECT_NEAR(exact, std::erfc(std::max(0.0, z) / std::sqrt(2.0)), 0.02);
  }
}

/// Reference: enumerates all differences.
TEST(EstimateShift, WithoutTiesItIsTheMedianDifferenceBetweenOrderStatistics) {
  std::mt19937 chance(31);
  std::normal_distribution<double> values(100, 15);
  for (int round = 0; round < 40; ++round) {
    std::vector<double> a, b, differences;
    for (size_t i = 0; i < 7 + chance() % 12; ++i) a.push_back(values(chance));
    for (size_t i = 0; i < 7 + chance() % 12; ++i) b.push_back(values(chance) + 9);
    for (const double x : a) {
      for (const double y : b) differences.push_back(y - x);
    }
    std::sort(differences.begin(), differences.end());
    const size_t last = differences.size() - 1;
    const ShiftEstimate s = estimateShift(a, b, 0.05);
    ASSERT_TRUE(s.bounded);
    EXPECT_GE(s.shift, differences[last / 2]);
    EXPECT_LE(s.shift, differences[last / 2 + 1]);
    // The test that the interval inverts, at shifts inside and just outside of it.
    const auto pOf = [&](double shift) {
      std::vector<double> x = a;
      std::vector<double> y;
      for (const double v : b) y.push_back(v - shift);
      return compareRanks(x, y).p;
    };
    for (size_t i = 0; i < last; ++i) {
      const double between = (differences[i] + differences[i + 1]) / 2;
      if (between > s.low + 1 && between < s.high - 1) {
        EXPECT_GT(pOf(between), 0.05);
      }
      if (between < differences[0] || between < s.low - 1 || between > s.high + 1) {
        EXPECT_LE(pOf(between), 0.06);
      }
    }
  }
}

TEST(EstimateShift, TellsACoarseClocksChangeThatTheMedianDoesNot) {
  std::vector<double> a(40, 2'000);
  std::vector<double> b(40, 2'000);
  for (size_t i = 0; i < 18; ++i) b[i] = 3'000;
  EXPECT_LT(compareRanks(a, b).p, 0.001);
  const ShiftEstimate s = estimateShift(a, b, 0.05);
  ASSERT_TRUE(s.bounded);
  EXPECT_GT(s.low, 0);
  EXPECT_GT(s.shift, s.low);
  EXPECT_LT(s.high, 1'000);
}

TEST(EstimateShift, ShiftsBackAreTheSameTheOtherWayRound) {
  std::mt19937 chance(37);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> a, b;
    for (size_t i = 0; i < 1 + chance() % 40; ++i) a.push_back(static_cast<double>(chance() % 30));
    for (size_t i = 0; i < 1 + chance() % 40; ++i) b.push_back(static_cast<double>(chance() % 40));
    const ShiftEstimate there = estimateShift(a, b, 0.02);
    const ShiftEstimate back = estimateShift(b, a, 0.02);
    EXPECT_NEAR(there.shift, -back.shift, 1e-9);
    ASSERT_EQ(there.bounded, back.bounded);
    if (!there.bounded) continue;
    EXPECT_NEAR(there.low, -back.high, 1e-9);
    EXPECT_NEAR(there.high, -back.low, 1e-9);
  }
}

TEST(CompareRanks, AChanceIsNeverNothing) {
  std::vector<double> a, b;
  for (int i = 0; i < 20'000; ++i) a.push_back(i), b.push_back(i + 100'000);
  EXPECT_GT(compareRanks(a, b).p, 0);
}

}  // namespace
}  // namespace tracesmith
