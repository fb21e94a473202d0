// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/covered_time.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tracesmith {
namespace {

TEST(CoveredTime, IsThatOfCountingEachMoment) {
  EXPECT_EQ(CoveredTime().within(0, 100), 0);
  std::mt19937 chance(31);
  for (int round = 0; round < 100; ++round) {
    std::vector<Interval> intervals;
    std::vector<bool> covered(120, false);
    for (int i = 0; i < 8; ++i) {
      const auto begin = static_cast<int64_t>(chance() % 100);
      const auto end = begin + static_cast<int64_t>(chance() % 15);
      intervals.push_back({begin, end});
      for (int64_t t = begin; t < end; ++t) covered[static_cast<size_t>(t)] = true;
    }
    const CoveredTime time(intervals);
    for (int64_t begin = -3; begin < 120; begin += 3) {
      int64_t sum = 0;
      for (int64_t end = begin; end < 123; ++end) {
        ASSERT_EQ(time.within(begin, end), sum) << begin << " " << end;
        sum += end >= 0 && end < 120 && covered[static_cast<size_t>(end)];
      }
    }
    EXPECT_EQ(time.within(50, 40), 0);
  }
}

}  // namespace
}  // namespace tracesmith
