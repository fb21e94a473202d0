// SPDX-License-Identifier: Apache-2.0
// Converts readings of a processor's counter to host time.
#include "tracesmith/capture/clocks/stamp_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tracesmith/base/clock.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace tracesmith {
namespace {

constexpr auto kCounter = arena::StampClockKind::kTimeStampCounter;
constexpr int64_t kStartNs = 5'000'000'000'000;

/// Reading of a 2.9 GHz counter with an error of `ppm`, at a host time.
int64_t counterAt(int64_t host_ns, int64_t ppm) {
  return static_cast<int64_t>(static_cast<__int128>(host_ns) * 29 * (1'000'000 + ppm) / 10'000'000);
}

TEST(StampClockTest, LeavesStampsOfTheHostClockAlone) {
  StampClock clock;
  EXPECT_EQ(clock.toNs(arena::StampClockKind::kMonotonicNs, 1234), 1234);
}

TEST(StampClockTest, HitsTheTimeWithinTheErrorOfItsSamples) {
  for (int64_t ppm : {0, 100, -450}) {
    std::mt19937 random(7);
    std::uniform_int_distribution<int64_t> noise(-200, 200);
    StampClock clock;
    for (int64_t t = kStartNs; t <= kStartNs + 10'000'000'000; t += 50'000'000) {
      clock.add({t + noise(random), counterAt(t, ppm), 200});
    }
    ASSERT_EQ(clock.samples().size(), 201u);
    int64_t worst = 0;
    for (int64_t t = kStartNs; t < kStartNs + 10'000'000'000; t += 333'333) {
      worst = std::max(worst, std::abs(clock.toNs(kCounter, counterAt(t, ppm)) - t));
    }
    EXPECT_LE(worst, 201) << ppm;
  }
}

TEST(StampClockTest, GoesOnByTheRateNearbyBeforeAndAfterItsSamples) {
  StampClock clock;
  for (int64_t t = kStartNs; t <= kStartNs + 1'000'000'000; t += 100'000'000) {
    clock.add({t, counterAt(t, 100), 10});
  }
  for (int64_t t : {kStartNs - 1'000'000'000, kStartNs + 2'000'000'000}) {
    EXPECT_NEAR(static_cast<double>(clock.toNs(kCounter, counterAt(t, 100))),
                static_cast<double>(t), 20.0);
  }
}

TEST(StampClockTest, TimeNeverRunsBackwards) {
  StampClock clock;
  std::mt19937 random(11);
  // Samples of several arenas come in any order, and some contradict the others.
  std::uniform_int_distribution<int64_t> when(0, 1'000'000'000);
  std::uniform_int_distribution<int64_t> wrong(-5'000'000, 5'000'000);
  for (int i = 0; i < 500; ++i) {
    const int64_t t = kStartNs + when(random);
    clock.add({t + wrong(random), counterAt(t, 0), 100});
  }
  ASSERT_GE(clock.samples().size(), 2u);
  int64_t before = INT64_MIN;
  for (int64_t t = kStartNs - 100'000'000; t < kStartNs + 1'200'000'000; t += 100'003) {
    const int64_t ns = clock.toNs(kCounter, counterAt(t, 0));
    ASSERT_GE(ns, before);
    before = ns;
  }
}

TEST(StampClockTest, OneSampleGivesItsTimeAndNoneGivesNothing) {
  StampClock clock;
  EXPECT_EQ(clock.toNs(kCounter, 77), 0);
  clock.add({kStartNs, counterAt(kStartNs, 0), 10});
  EXPECT_EQ(clock.toNs(kCounter, counterAt(kStartNs, 0) + 1000), kStartNs);
}

TEST(StampClockTest, AnyStampHasATime) {
  StampClock clock;
  clock.add({kStartNs, counterAt(kStartNs, 0), 10});
  clock.add({kStartNs + 1, counterAt(kStartNs, 0) + 1, 10});
  EXPECT_GT(clock.toNs(kCounter, INT64_MAX), kStartNs);
  EXPECT_LT(clock.toNs(kCounter, INT64_MIN), kStartNs);
}

#if defined(__x86_64__)
TEST(StampClockTest, ReadsThisMachinesCounter) {
  StampClock clock;
  clock.sample();
  const int64_t begin = monotonicNs();
  const auto stamp = static_cast<int64_t>(__rdtsc());
  const int64_t end = monotonicNs();
  while (monotonicNs() - end < 2'000'000) {
  }
  clock.sample();
  ASSERT_EQ(clock.samples().size(), 2u);
  const int64_t error = std::max(clock.samples()[0].error_ns, clock.samples()[1].error_ns) + 1;
  const int64_t found = clock.toNs(kCounter, stamp);
  EXPECT_GE(found, begin - error);
  EXPECT_LE(found, end + error);
}
#endif

}  // namespace
}  // namespace tracesmith
