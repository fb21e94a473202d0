// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/ranks/ranks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tracesmith {
namespace {

using ::testing::ElementsAre;

/// Three ranks whose times were converted to the clock of the first: the others ran on host "b".
Trace converted() {
  Trace trace;
  constexpr const char* kClocks[] = {"a", "b", "b"};
  for (uint32_t i = 0; i < 3; ++i) {
    const auto rank = idAt<RankId>(i);
    trace.rank.push({.id = rank,
                     .number = i,
                     .clock_rank_id = idAt<RankId>(0),
                     .clock_error_ns = i == 0 ? 0U : 100U + i});
    trace.process.push({.id = idAt<ProcessId>(i), .pid = 10 + i, .rank_id = rank});
    trace.range.push({.start_ns = 1000 + i, .process_id = idAt<ProcessId>(i)});
    trace.setMetadata(rankMetadataPrefix(i) + "clock_id", kClocks[i]);
  }
  trace.setMetadata("clocks", clocksText(trace));
  trace.setMetadata("tool", "x");
  return trace;
}

TEST(PartOfRanks, HasTheRowsOfTheseRanksUnderNewIds) {
  const Trace part = partOfRanks(converted(), {RankId{1}, RankId{3}});
  EXPECT_THAT(part.rank.number, ElementsAre(0, 2));
  EXPECT_THAT(part.process.pid, ElementsAre(10, 12));
  EXPECT_THAT(part.process.rank_id, ElementsAre(RankId{1}, RankId{2}));
  EXPECT_THAT(part.range.start_ns, ElementsAre(1000, 1002));
  EXPECT_THAT(part.range.process_id, ElementsAre(ProcessId{1}, ProcessId{2}));
  EXPECT_EQ(part.metadataValue("tool"), "x");
  EXPECT_EQ(part.metadataValue("rank.2.clock_id"), "b");
  EXPECT_EQ(part.metadataValue("rank.1.clock_id"), "");
  EXPECT_TRUE(haveOneClock(part));
  EXPECT_THAT(clocksText(part), ::testing::HasSubstr("times are of the first one's clock"));
}

TEST(PartOfRanks, TimesStayThoseOfAClockWhoseRankIsLeftOut) {
  const Trace part = partOfRanks(converted(), {RankId{2}, RankId{3}});
  EXPECT_TRUE(haveOneClock(part));
  EXPECT_THAT(part.rank.clock_error_ns, ElementsAre(101, 102));
  EXPECT_THAT(clocksText(part), ::testing::HasSubstr("one host"));
  // Its times are not of the clock that the rank had.
  EXPECT_EQ(partOfRank(part, RankId{1}).metadataValue("clock_id"), "");
  EXPECT_EQ(partOfRank(converted(), RankId{1}).metadataValue("clock_id"), "a");
  EXPECT_EQ(partOfRank(converted(), RankId{2}).metadataValue("clock_id"), "");
  // Nor does a part of a part forget it.
  const Trace again = partOfRanks(part, {RankId{2}});
  EXPECT_EQ(partOfRank(again, RankId{1}).metadataValue("clock_id"), "");
}

TEST(PartOfRanks, RanksWithClocksOfTheirOwnKeepThem) {
  Trace trace = converted();
  for (RankId& clock : trace.rank.clock_rank_id) clock = RankId::kNone;
  const Trace part = partOfRanks(trace, {RankId{2}, RankId{3}});
  EXPECT_FALSE(haveOneClock(part));
  EXPECT_EQ(partOfRank(part, RankId{1}).metadataValue("clock_id"), "b");
}

}  // namespace
}  // namespace tracesmith
