// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/races/races.hpp"

#include <gtest/gtest.h>

#include "tracesmith/analysis/races/access_map.hpp"
#include "tracesmith/analysis/races/vector_clocks.hpp"

namespace tracesmith::races {
namespace {

class Races : public testing::Test {
 protected:
  StepId work(uint32_t stream, std::vector<Access> accesses, std::vector<StepId> waits = {},
              uint32_t thread = 0) {
    return program_.add({.thread = thread, .stream = stream}, waits, accesses);
  }
  StepId host(StepKind kind, std::vector<StepId> waits = {}, uint32_t stream = kNone,
              uint32_t thread = 0) {
    return program_.add({.kind = kind, .thread = thread, .stream = stream}, waits, {});
  }
  static Access writes(uint64_t begin = 0, uint64_t end = 100, uint32_t allocation = 0) {
    return {begin, end, allocation, true, Grade::kProven};
  }
  static Access reads(uint64_t begin = 0, uint64_t end = 100, uint32_t allocation = 0) {
    return {begin, end, allocation, false, Grade::kProven};
  }
  /// "first-second" of each race.
  std::string found(bool threads_are_one = false) const {
    std::string text;
    forEachRace(program_, {Grade::kPossible, threads_are_one}, [&](const Race& race) {
      text += (text.empty() ? "" : " ") + std::to_string(race.first) + "-" +
              std::to_string(race.second);
    });
    return text;
  }
  Program program_;
  uint32_t a_ = program_.addStream(false);
  uint32_t b_ = program_.addStream(false);
  uint32_t free_ = program_.addStream(true);
};

TEST_F(Races, TwoStreamsWithoutAWait) {
  work(a_, {writes(0, 100)});
  work(b_, {reads(50, 60)});
  std::vector<Race> races;
  forEachRace(program_, {}, [&](const Race& race) { races.push_back(race); });
  ASSERT_EQ(races.size(), 1u);
  EXPECT_EQ(races[0].first, 0u);
  EXPECT_EQ(races[0].second, 1u);
  EXPECT_EQ(races[0].conflict, Conflict::kWriteRead);
  EXPECT_EQ(races[0].begin, 50u);
  EXPECT_EQ(races[0].end, 60u);
  EXPECT_EQ(races[0].bytes, 10u);
}

TEST_F(Races, NotOfReadersNorOfOtherBytesOrAllocations) {
  work(a_, {reads(0, 50), writes(50, 60), writes(0, 100, 1)});
  work(b_, {reads(0, 50), writes(60, 70), writes(0, 100, 2)});
  EXPECT_EQ(found(), "");
}

TEST_F(Races, AnEventOrdersEvenByWayOfAnotherStream) {
  const StepId first = work(a_, {writes()});
  const StepId between = work(free_, {}, {first});
  work(b_, {writes()}, {between});
  EXPECT_EQ(found(), "");
}

TEST_F(Races, AnEventThatIsBeforeTheWriteOrdersNothing) {
  const StepId early = work(a_, {});
  work(a_, {writes()});
  work(b_, {reads()}, {early});
  EXPECT_EQ(found(), "1-2");
}

TEST_F(Races, TheHostsWaitForAStreamOrders) {
  work(a_, {writes()});
  host(StepKind::kHostWait, {}, a_);
  work(b_, {writes()});
  EXPECT_EQ(found(), "");
}

TEST_F(Races, TheHostsWaitForAnotherStreamDoesNot) {
  work(a_, {writes()});
  work(b_, {});
  host(StepKind::kHostWait, {}, b_);
  work(b_, {writes()});
  EXPECT_EQ(found(), "0-3");
}

TEST_F(Races, ABlockingCallOrders) {
  program_.add({.blocking = true, .stream = a_}, {}, std::vector{writes()});
  work(b_, {writes()});
  EXPECT_EQ(found(), "");
}

TEST_F(Races, OfAnOutOfOrderStreamWithItself) {
  work(free_, {writes()});
  work(free_, {reads()});
  EXPECT_EQ(found(), "0-1");
}

TEST_F(Races, ABarrierOrdersAnOutOfOrderStream) {
  work(free_, {writes()});
  program_.add({.kind = StepKind::kBarrier, .stream = free_});
  work(free_, {reads()});
  EXPECT_EQ(found(), "");
}

TEST_F(Races, AMarkerOrdersOnlyWhoWaitsForIt) {
  work(free_, {writes()});
  const StepId marker = program_.add({.kind = StepKind::kMarker, .stream = free_});
  work(free_, {reads()});
  work(free_, {reads()}, {marker});
  EXPECT_EQ(found(), "0-2");
}

TEST_F(Races, ABarrierWithWaitsDoesNotWaitForTheOthers) {
  const StepId first = work(free_, {writes(0, 10)});
  work(free_, {writes(10, 20)});
  program_.add({.kind = StepKind::kBarrier, .stream = free_}, std::vector{first}, {});
  work(free_, {reads(0, 20)});
  EXPECT_EQ(found(), "1-3");
}

TEST_F(Races, EachReaderIsHeldAgainstTheNextWriter) {
  work(a_, {reads()});
  work(b_, {reads()});
  work(free_, {writes(99, 100)});
  EXPECT_EQ(found(), "0-2 1-2");
}

TEST_F(Races, WhatAFixWouldOrderIsNotToldAgain) {
  work(a_, {writes()});
  const StepId second = work(b_, {writes()});
  work(free_, {reads()}, {second});
  EXPECT_EQ(found(), "0-1");
}

TEST_F(Races, AUserEventHoldsBackUntilItIsSet) {
  const StepId event = host(StepKind::kUserEvent);
  work(a_, {reads()}, {event});
  program_.add({.kind = StepKind::kHostAccess}, {}, std::vector{writes()});
  program_.add({.kind = StepKind::kSetUserEvent, .target = event});
  EXPECT_EQ(found(), "") << "the host wrote before it let the reader go";
  program_.add({.kind = StepKind::kHostAccess}, {}, std::vector{writes()});
  EXPECT_EQ(found(), "1-4");
}

TEST_F(Races, WhatWaitsForEverTouchesNothing) {
  const StepId event = host(StepKind::kUserEvent);
  work(a_, {writes()}, {event});
  work(b_, {writes()});
  RaceReport report = findRaces(program_, Grade::kPossible);
  EXPECT_TRUE(report.groups.empty());
  EXPECT_EQ(report.stalled, 2u);
}

TEST_F(Races, TheHostAndTheDevice) {
  const StepId read = work(a_, {writes()});
  program_.add({.kind = StepKind::kHostAccess}, {}, std::vector{reads()});
  EXPECT_EQ(found(), "0-1");
  program_.add({.kind = StepKind::kHostAccess}, std::vector{read}, std::vector{reads()});
  EXPECT_EQ(found(), "0-1");
  work(b_, {writes()});  // called after the host has read
  EXPECT_EQ(found(), "0-1");
}

TEST_F(Races, ThreadsKnowNothingOfEachOther) {
  work(a_, {writes()}, {}, 0);
  host(StepKind::kHostWait, {}, a_, 0);
  work(b_, {writes()}, {}, 1);
  EXPECT_EQ(found(), "0-2");
  EXPECT_EQ(found(true), "");
  const RaceReport report = findRaces(program_, Grade::kPossible);
  ASSERT_EQ(report.groups.size(), 1u);
  EXPECT_TRUE(report.groups[0].race.across_threads);
  EXPECT_EQ(report.groups[0].race.grade, Grade::kPossible);
  EXPECT_TRUE(findRaces(program_, Grade::kLikely).groups.empty());
}

TEST_F(Races, WhatIsOnlyPossibleHidesNothingThatIsProven) {
  work(a_, {writes()});
  Access perhaps = writes();
  perhaps.grade = Grade::kPossible;
  const StepId second = work(b_, {perhaps});
  work(free_, {reads()}, {second});
  EXPECT_EQ(found(), "0-1 0-2");
  const RaceReport report = findRaces(program_, Grade::kLikely);
  ASSERT_EQ(report.groups.size(), 1u);
  EXPECT_EQ(report.groups[0].race.grade, Grade::kProven);
}

TEST_F(Races, EqualOnesAreToldOnceWithTheirNumber) {
  for (uint64_t i = 0; i < 10; ++i) {
    program_.add({.stream = a_, .label = 1}, {}, std::vector{writes(i, i + 1)});
    program_.add({.stream = b_, .label = 2}, {}, std::vector{reads(i, i + 1)});
  }
  const RaceReport report = findRaces(program_, Grade::kLikely);
  ASSERT_EQ(report.groups.size(), 1u);
  EXPECT_EQ(report.groups[0].count, 10u);
  EXPECT_FALSE(report.groups[0].same_bytes);
  EXPECT_EQ(report.races, 10u);
}

TEST(ClockForest, JoinsShareWhatTheyHaveInCommonAndLoseNoNode) {
  ClockForest forest;
  {
    VectorClock a(forest), b(forest);
    for (uint32_t chain = 0; chain < 10'000; chain += 3) a.advance(chain, chain + 1);
    const size_t before = forest.nodes();
    VectorClock copy = a;
    copy.advance(9'000, 1'000'000);
    EXPECT_LE(forest.nodes(), before + 4) << "a path is copied, not the tree";
    b.advance(3'000'000'000u, 5);
    b.join(copy);
    EXPECT_EQ(b.at(9'000), 1'000'000u);
    EXPECT_EQ(a.at(9'000), 9'001u);
    EXPECT_EQ(b.at(3'000'000'000u), 5u);
    EXPECT_EQ(b.at(9'999), 10'000u);
    copy.join(b);
    EXPECT_EQ(copy.root(), b.root()) << "who knows less gets the other's nodes";
  }
  EXPECT_EQ(forest.nodes(), 0u);
}

TEST(AccessMap, ThousandsOfStretchesAndOneWriteMakesThemOne) {
  AccessMap map;
  ReaderLists lists;
  const auto none = [](Use, bool, uint64_t, uint64_t) { FAIL() << "nothing is shared"; };
  for (uint32_t i = 0; i < 5000; ++i) {
    const uint64_t at = uint64_t{i * 2711u % 5000u} * 16;  // each once, in no particular order
    map.write(at, at + 8, {i}, lists, none);
  }
  EXPECT_EQ(map.intervals(), 10'000u);
  uint32_t reads = 0;
  map.read(0, 80'000, {5000}, 1, lists, [&](Use use, bool wrote, uint64_t begin, uint64_t end) {
    EXPECT_TRUE(wrote);
    EXPECT_EQ(begin, uint64_t{use.step * 2711u % 5000u} * 16);
    EXPECT_EQ(end, begin + 8);
    ++reads;
  });
  EXPECT_EQ(reads, 5000u);
  uint64_t bytes = 0;
  map.write(4, 79'992, {5001}, lists, [&](Use, bool wrote, uint64_t begin, uint64_t end) {
    if (!wrote) bytes += end - begin;
  });
  EXPECT_EQ(bytes, 79'988u);
  EXPECT_EQ(map.intervals(), 4u);
}

TEST(ReaderLists, KeepTheLastOfEachChainHoweverLongAndShared) {
  ReaderLists lists;
  ReaderLists::List list = 0;
  for (uint32_t step = 0; step < 10'000; ++step) {
    list = lists.added(list, {step}, step % 40);
    if (step == 5'000) lists.retain(list);  // never given up
  }
  std::vector<StepId> readers;
  lists.forEach(list, [&](Use use) { readers.push_back(use.step); });
  std::sort(readers.begin(), readers.end());
  ASSERT_EQ(readers.size(), 40u);
  EXPECT_EQ(readers.front(), 9'960u);
  EXPECT_EQ(readers.back(), 9'999u);
}

}  // namespace
}  // namespace tracesmith::races
