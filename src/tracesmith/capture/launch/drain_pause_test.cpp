// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/launch/drain_pause.hpp"

#include <gtest/gtest.h>

#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith {
namespace {

constexpr uint64_t kRecordBytes = 40;

/// The pause after many passes that read nothing.
int64_t longestOf(uint64_t ring_bytes) {
  DrainPause pause(ring_bytes);
  int64_t ns = 0;
  for (int i = 0; i < 20; ++i) ns = pause.next(0);
  return ns;
}

TEST(DrainPause, DoublesWhileNothingArrivesAndIsShortWhenMuchDoes) {
  DrainPause pause(DrainPause::kDefaultRingBytes);
  EXPECT_EQ(pause.next(0), 2'000'000);
  EXPECT_EQ(pause.next(0), 4'000'000);
  EXPECT_EQ(pause.next(0), DrainPause::kLongestNs);
  EXPECT_EQ(pause.next(0), DrainPause::kLongestNs);
  EXPECT_EQ(pause.next(DrainPause::kDefaultRingBytes / 4096), DrainPause::kShortestNs);
  EXPECT_EQ(pause.next(DrainPause::kDefaultRingBytes / 4096 - 1), 2'000'000);
}

TEST(DrainPause, SmallRingsAreReadMoreOften) {
  EXPECT_EQ(longestOf(1u << 30), DrainPause::kLongestNs);
  EXPECT_EQ(longestOf(2u << 20), DrainPause::kLongestNs / 2);
  EXPECT_EQ(longestOf(arena::kMinRingBytes), DrainPause::kShortestNs);
  EXPECT_EQ(longestOf(0), DrainPause::kShortestNs);
  DrainPause smallest(arena::kMinRingBytes);
  EXPECT_EQ(smallest.next(arena::kMinRingBytes), DrainPause::kLeastNs);
}

TEST(DrainPause, TheSmallestRingHoldsWhatItsLongestPauseRecords) {
  const auto records = static_cast<int64_t>(arena::kMinRingBytes / kRecordBytes);
  EXPECT_LT(longestOf(arena::kMinRingBytes) / records, 650);  // ns for each call
}

}  // namespace
}  // namespace tracesmith
