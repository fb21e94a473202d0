// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/ranks/rank_clocks.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <tuple>

#include "tracesmith/model/ranks/ranks.hpp"

namespace tracesmith {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000'000;

/// Ranks whose clocks are those of the given names.
Trace ranksWithClocks(const std::vector<std::string>& clocks) {
  Trace trace;
  for (size_t i = 0; i < clocks.size(); ++i) {
    const auto number = static_cast<uint32_t>(i);
    trace.rank.push({.id = idAt<RankId>(i), .number = number});
    trace.setMetadata(rankMetadataPrefix(number) + "clock_id", clocks[i]);
  }
  return trace;
}

/// A clock that is `ahead` of another one at that one's time 0, and faster.
struct Pace {
  int64_t ahead = 0;
  double ppm = 0;
  int64_t of(int64_t time) const {
    return time + ahead + static_cast<int64_t>(ppm * 1e-6 * static_cast<double>(time));
  }
};

/// What a rank has measured of another clock, each half second, no further off than `half`.
void compare(Trace& trace, size_t rank, const std::string& peer, int64_t from, int64_t to,
             int64_t half, const std::function<int64_t(int64_t)>& offset) {
  for (int64_t t = from; t <= to; t += kSecond / 2) {
    const int64_t away = t / 7 % half;  // where in the bound the truth is
    trace.clock_offset.push({.host_ns = t,
                             .peer = trace.strings.intern(peer),
                             .peer_clock_id = trace.strings.intern(peer),
                             .low_ns = offset(t) - half + away,
                             .high_ns = offset(t) + half + away,
                             .rank_id = idAt<RankId>(rank)});
  }
}

void expectNear(const clocks::Bounded& found, int64_t truth, int64_t most_error) {
  EXPECT_LE(std::abs(found.value - truth), found.error);
  EXPECT_LE(found.error, most_error);
}

TEST(RankClocks, RanksOfOneHostHaveOneClock) {
  const RankClocks clocks(ranksWithClocks({"a", "a", "a"}));
  ASSERT_TRUE(clocks.areCompared());
  EXPECT_EQ(clocks.toFirst(2, 77).value, 77);
  EXPECT_EQ(clocks.toFirst(2, 77).error, 0);
  // Also if one of them was compared with a clock of none.
  Trace trace = ranksWithClocks({"a", "a"});
  compare(trace, 0, "b", 0, kSecond, 100, [](int64_t) { return 7; });
  const RankClocks again(trace);
  ASSERT_TRUE(again.areCompared());
  EXPECT_EQ(again.toFirst(1, 77).value, 77);
  EXPECT_EQ(again.toFirst(1, 77).error, 0);
}

TEST(RankClocks, AreKnownFromEitherSide) {
  const Pace b{5000 * kSecond, 20};
  Trace trace = ranksWithClocks({"a", "b"});
  compare(trace, 0, "b", kSecond, 9 * kSecond, 10'000, [&](int64_t t) { return b.of(t) - t; });
  const RankClocks from_first(trace);
  trace.clock_offset.clear();
  for (int64_t t = kSecond; t <= 9 * kSecond; t += kSecond / 2) {
    trace.clock_offset.push({.host_ns = b.of(t),
                             .peer_clock_id = trace.strings.intern("a"),
                             .low_ns = t - b.of(t) - 9'000,
                             .high_ns = t - b.of(t) + 4'000,
                             .rank_id = RankId{2}});
  }
  const RankClocks from_second(trace);
  for (const RankClocks* clocks : {&from_first, &from_second}) {
    ASSERT_TRUE(clocks->areCompared());
    for (int64_t t = kSecond; t < 9 * kSecond; t += kSecond / 13) {
      expectNear(clocks->toFirst(1, b.of(t)), t, 40'000);
    }
    // Two seconds after the last, where a daemon may correct the clock by 500 ppm.
    expectNear(clocks->toFirst(1, b.of(11 * kSecond)), 11 * kSecond, 1'100'000);
  }
}

TEST(RankClocks, GoOverOtherRanks) {
  const Pace b{-40 * kSecond, -30}, c{7 * kSecond, 10};  // ahead of a, and of b
  Trace trace = ranksWithClocks({"a", "c", "b", "a"});
  compare(trace, 0, "b", kSecond, 9 * kSecond, 5'000, [&](int64_t t) { return b.of(t) - t; });
  compare(trace, 2, "c", -39 * kSecond, -31 * kSecond, 5'000,
          [&](int64_t t) { return c.of(t) - t; });
  const RankClocks clocks(trace);
  ASSERT_TRUE(clocks.areCompared());
  for (int64_t t = kSecond; t < 9 * kSecond; t += kSecond / 13) {
    expectNear(clocks.toFirst(1, c.of(b.of(t))), t, 40'000);
    expectNear(clocks.toFirst(2, b.of(t)), t, 20'000);
    EXPECT_EQ(clocks.toFirst(3, t).error, 0);
  }
}

/// Of three hosts each was compared with the next; the last comparison is wrong by `wrong`.
std::vector<std::string> contradictionsOfThree(int64_t wrong) {
  const Pace b{-40 * kSecond, -30}, c{7 * kSecond, 10};  // ahead of a, and of b
  Trace trace = ranksWithClocks({"a", "b", "b", "c"});
  compare(trace, 0, "b", kSecond, 9 * kSecond, 5'000, [&](int64_t t) { return b.of(t) - t; });
  compare(trace, 1, "c", -39 * kSecond, -31 * kSecond, 5'000,
          [&](int64_t t) { return c.of(t) - t; });
  compare(trace, 0, "c", kSecond, 9 * kSecond, 7'000,
          [&](int64_t t) { return c.of(b.of(t)) - t + wrong; });
  const RankClocks clocks(trace);
  EXPECT_TRUE(clocks.areCompared());
  const std::string names[] = {"n0.sbt", "n1.sbt", "n2.sbt", "n3.sbt"};
  return clocks.contradictions(names);
}

TEST(RankClocks, ALoopAddsUpToNothingOrIsNamed) {
  EXPECT_THAT(contradictionsOfThree(0), ::testing::IsEmpty());
  EXPECT_THAT(contradictionsOfThree(6'000), ::testing::IsEmpty()) << "as far as bounds allow";
  for (const int64_t wrong : {int64_t{200'000}, -3 * kSecond}) {
    const std::vector<std::string> found = contradictionsOfThree(wrong);
    ASSERT_EQ(found.size(), 1u);
    for (const char* name : {"n0.sbt", "n1.sbt", "n3.sbt"}) EXPECT_THAT(found[0], HasSubstr(name));
    EXPECT_THAT(found[0], ::testing::Not(HasSubstr("n2.sbt"))) << "has the clock of n1.sbt";
    EXPECT_THAT(found[0], HasSubstr("contradict each other"));
  }
  EXPECT_THAT(contradictionsOfThree(-3 * kSecond)[0],
              ::testing::ContainsRegex("add up to [+-](3\\.0000|2\\.9999).* s, and their bounds"));
}

TEST(RankClocks, TwoHostsThatComparedEachOther) {
  const Pace b{5 * kSecond, 20};
  for (const int64_t wrong : {0, 100'000}) {
    Trace trace = ranksWithClocks({"a", "b"});
    compare(trace, 0, "b", kSecond, 9 * kSecond, 5'000, [&](int64_t t) { return b.of(t) - t; });
    compare(trace, 1, "a", 6 * kSecond, 14 * kSecond, 9'000, [&](int64_t t) {
      return static_cast<int64_t>(static_cast<double>(t - 5 * kSecond) / (1 + 20e-6)) - t + wrong;
    });
    const std::string names[] = {"n0.sbt", "n1.sbt"};
    const std::vector<std::string> found = RankClocks(trace).contradictions(names);
    if (wrong == 0) {
      EXPECT_THAT(found, ::testing::IsEmpty());
    } else {
      ASSERT_EQ(found.size(), 1u);
      EXPECT_THAT(found[0], HasSubstr("the clocks of n1.sbt and n0.sbt contradict each other"));
    }
  }
}

/// What the time daemon of a rank's host has said, once a second: off by a third of `half`, always
/// to the same side.
void compareWithUtc(Trace& trace, size_t rank, const Pace& ahead, int64_t half) {
  constexpr int64_t kNow = 1'795'900'707 * kSecond;
  for (int64_t t = kSecond; t <= 9 * kSecond; t += kSecond) {
    const int64_t offset = kNow + t - ahead.of(t) + half / 3;
    trace.clock_offset.push({.host_ns = ahead.of(t),
                             .peer = trace.strings.intern("chrony"),
                             .peer_clock_id = trace.strings.intern("UTC"),
                             .low_ns = offset - half,
                             .high_ns = offset + half,
                             .rank_id = idAt<RankId>(rank)});
  }
}

TEST(RankClocks, GoOverUtc) {
  const Pace b{5000 * kSecond, 20};
  Trace trace = ranksWithClocks({"a", "b"});
  compareWithUtc(trace, 0, {}, 1'000'000);
  compareWithUtc(trace, 1, b, 2'000'000);
  const RankClocks clocks(trace);
  ASSERT_TRUE(clocks.areCompared());
  for (int64_t t = kSecond; t < 9 * kSecond; t += kSecond / 13) {
    const clocks::Bounded found = clocks.toFirst(1, b.of(t));
    expectNear(found, t, 3'050'000);
    EXPECT_GE(found.error, 3'000'000);
  }
}

TEST(RankClocks, AHostThatSlept) {
  // Its clock stood still for ten seconds of the first one's, which has measured it.
  const auto b = [](int64_t t) {
    return t + 300 * kSecond - std::clamp(t - 5 * kSecond, int64_t{0}, 10 * kSecond);
  };
  Trace trace = ranksWithClocks({"a", "b"});
  const auto offset = [&](int64_t t) { return b(t) - t; };
  compare(trace, 0, "b", kSecond, 5 * kSecond, 5'000, offset);
  compare(trace, 0, "b", 15 * kSecond, 25 * kSecond, 5'000, offset);
  const RankClocks clocks(trace);
  ASSERT_TRUE(clocks.areCompared());
  int64_t last = 0;
  for (int64_t t = kSecond; t < 25 * kSecond; t += kSecond / 97) {
    const clocks::Bounded found = clocks.toFirst(1, b(t));
    const bool asleep = t >= 5 * kSecond && t <= 15 * kSecond;
    if (!asleep) {
      ASSERT_LE(std::abs(found.value - t), found.error) << t;
    }
    if (t < 4 * kSecond || t > 16 * kSecond) {
      ASSERT_LE(found.error, 40'000) << t;
    }
    ASSERT_GE(found.value, last);
    last = found.value;
  }
}

TEST(RankClocks, UtcOfRunsThatFollowEachOther) {
  // The second rank ran an hour after the first: nothing was measured of the first clock then.
  const Pace b{5000 * kSecond, 20};
  Trace trace = ranksWithClocks({"a", "b"});
  compareWithUtc(trace, 0, {}, 3'000'000);
  for (int64_t t = 3601 * kSecond; t <= 3609 * kSecond; t += kSecond) {
    const int64_t jitter = t / kSecond % 3 * 1'000'000;
    const int64_t offset = 1'795'900'707 * kSecond + t - b.of(t) + jitter;
    trace.clock_offset.push({.host_ns = b.of(t),
                             .peer_clock_id = trace.strings.intern("UTC"),
                             .low_ns = offset - 3'000'000,
                             .high_ns = offset + 3'000'000,
                             .rank_id = RankId{2}});
  }
  const RankClocks clocks(trace);
  ASSERT_TRUE(clocks.areCompared());
  for (int64_t t = 3601 * kSecond; t < 3609 * kSecond; t += kSecond / 13) {
    const clocks::Bounded found = clocks.toFirst(1, b.of(t));
    EXPECT_LE(std::abs(found.value - t), found.error);
    EXPECT_GE(found.error, 1800 * int64_t{1'000'000}) << "half a millisecond a second";
  }
}

TEST(RankClocks, ManyClocksOfADamagedTrace) {
  Trace trace = ranksWithClocks({"a", "b"});
  compare(trace, 0, "b", kSecond, 9 * kSecond, 5'000, [](int64_t) { return 7; });
  for (int i = 0; i < 200'000; ++i) {
    trace.clock_offset.push({.host_ns = i,
                             .peer_clock_id = trace.strings.intern("clock " + std::to_string(i)),
                             .low_ns = 0,
                             .high_ns = 9,
                             .rank_id = idAt<RankId>(static_cast<size_t>(i % 2))});
  }
  const RankClocks clocks(trace);
  ASSERT_TRUE(clocks.areCompared());
  EXPECT_LE(clocks.toFirst(1, 5 * kSecond).error, 20'000);
}

TEST(RankClocks, TakeTheNarrowestWay) {
  const Pace b{-40 * kSecond, -30}, c{7 * kSecond, 10};
  Trace trace = ranksWithClocks({"a", "b", "c"});
  compareWithUtc(trace, 0, {}, 1'000'000);
  compareWithUtc(trace, 2, {c.ahead + b.ahead, c.ppm + b.ppm}, 1'000'000);
  compare(trace, 0, "b", kSecond, 9 * kSecond, 5'000, [&](int64_t t) { return b.of(t) - t; });
  compare(trace, 1, "c", -39 * kSecond, -31 * kSecond, 5'000,
          [&](int64_t t) { return c.of(t) - t; });
  const RankClocks clocks(trace);
  ASSERT_TRUE(clocks.areCompared());
  expectNear(clocks.toFirst(2, c.of(b.of(4 * kSecond))), 4 * kSecond, 40'000);
}

TEST(RankClocks, WhatWasNotComparedIsNotKnown) {
  EXPECT_FALSE(RankClocks(Trace()).areCompared());
  EXPECT_FALSE(RankClocks(ranksWithClocks({"a", "b"})).areCompared());
  EXPECT_FALSE(RankClocks(ranksWithClocks({"", ""})).areCompared());
  Trace trace = ranksWithClocks({"a", "b", "c"});
  compare(trace, 0, "b", 0, kSecond, 100, [](int64_t) { return 7; });
  EXPECT_FALSE(RankClocks(trace).areCompared());
  Trace twice = ranksWithClocks({"a", "a"});
  twice.rank.number[1] = 0;
  EXPECT_FALSE(RankClocks(twice).areCompared());
}

TEST(RankClocks, OffsetsThatMakeNoSenseAreLeftOut) {
  Trace trace = ranksWithClocks({"a", "b"});
  for (const auto& [at, low, high] :
       {std::tuple(INT64_MIN, int64_t{0}, int64_t{1}), std::tuple(int64_t{5}, INT64_MIN, INT64_MAX),
        std::tuple(int64_t{6}, int64_t{9}, int64_t{8})}) {
    trace.clock_offset.push({.host_ns = at,
                             .peer_clock_id = trace.strings.intern("b"),
                             .low_ns = low,
                             .high_ns = high,
                             .rank_id = RankId{1}});
  }
  EXPECT_FALSE(RankClocks(trace).areCompared());
  compare(trace, 0, "b", 0, kSecond, 100, [](int64_t) { return 7; });
  const RankClocks clocks(trace);
  ASSERT_TRUE(clocks.areCompared());
  for (const int64_t time : {INT64_MIN, INT64_MAX, int64_t{0}}) (void)clocks.toFirst(1, time);
  // Two bounds that are as wide as years and a nanosecond apart.
  Trace steep = ranksWithClocks({"a", "b"});
  for (const auto& [at, low] :
       {std::pair(int64_t{1}, -(int64_t{1} << 59)), std::pair(int64_t{2}, int64_t{0})}) {
    steep.clock_offset.push({.host_ns = at,
                             .peer_clock_id = steep.strings.intern("b"),
                             .low_ns = low,
                             .high_ns = int64_t{1} << 59,
                             .rank_id = RankId{1}});
  }
  const RankClocks wide(steep);
  ASSERT_TRUE(wide.areCompared());
  for (const int64_t time : {INT64_MIN, INT64_MAX, int64_t{0}, 3600 * kSecond}) {
    EXPECT_GT(wide.toFirst(1, time).error, 0);
  }
}

TEST(RankClocks, SayWhyTheyAreNotCompared) {
  const std::vector<std::string> files = {"0.sbt", "1.sbt", "2.sbt"};
  Trace trace = ranksWithClocks({"a", "b", "c"});
  compare(trace, 0, "b", 0, kSecond, 100, [](int64_t) { return 7; });
  EXPECT_THAT(RankClocks(trace).whyNot(files),
              HasSubstr("the clock of 2.sbt was not compared with that of 0.sbt"));
  EXPECT_THAT(RankClocks(ranksWithClocks({"a", "a", ""})).whyNot(files),
              HasSubstr("2.sbt does not say which clock it has"));
  EXPECT_THAT(RankClocks(ranksWithClocks({"", "a"})).whyNot(files),
              HasSubstr("0.sbt does not say which clock it has"));
}

TEST(RankClocks, FactsOfRanksOneByOneAreThoseOfTheMergedTrace) {
  Trace first, second, facts;
  first.setMetadata("clock_id", "a");
  compare(first, 0, "b", 0, kSecond, 100, [](int64_t) { return 7; });
  first.clock_offset.rank_id[0] = RankId{9};  // of the rank's own trace, where it means nothing
  second.strings.intern("something else");
  second.setMetadata("clock_id", "b");
  addClockFacts(facts, first);
  addClockFacts(facts, second);
  const RankClocks clocks(facts);
  ASSERT_TRUE(clocks.areCompared());
  expectNear(clocks.toFirst(1, kSecond / 2 + 7), kSecond / 2, 300);
}

TEST(RankClocks, SpansStayNestedAndInOrder) {
  const Pace b{5000 * kSecond, 60};
  Trace facts = ranksWithClocks({"a", "b"});
  compare(facts, 0, "b", kSecond, 9 * kSecond, 10'000, [&](int64_t t) { return b.of(t) - t; });
  const RankClocks clocks(facts);
  // On one stream each kernel begins when the one before has ended, within one range.
  Trace trace;
  const int64_t begin = b.of(2 * kSecond);
  trace.process.push({.id = ProcessId{1}, .start_ns = begin - 3600 * kSecond});  // long before
  trace.range.push({.start_ns = begin, .duration_ns = 3000 * int64_t{1'234'567}});
  for (int i = 0; i < 3000; ++i) {
    trace.kernel.push({.start_ns = begin + int64_t{i} * 1'234'567,
                       .duration_ns = 1'234'567,
                       .queued_before_ns = i == 0 ? 0 : 1'234'567});
  }
  trace.kernel.push({.start_ns = 17, .duration_ns = 4, .flags = op_flags::kDeviceClock});
  trace.counter.push({.time_ns = begin});
  trace.clock_offset.push({.host_ns = begin});
  const int64_t error = clocks.convertToFirst(1, trace);
  EXPECT_LE(error, 60'000);  // the start of the process, long before all comparisons, is no event
  EXPECT_GT(error, 0);
  expectNear({trace.counter.time_ns[0], error}, 2 * kSecond, error);
  EXPECT_EQ(trace.range.start_ns[0], trace.kernel.start_ns[0]);
  for (size_t i = 0; i + 1 < 3000; ++i) {
    const KernelRow row = trace.kernel.row(i), next = trace.kernel.row(i + 1);
    ASSERT_EQ(row.start_ns + row.duration_ns, next.start_ns);
    ASSERT_EQ(next.start_ns - next.queued_before_ns, row.start_ns);
  }
  const KernelRow last = trace.kernel.row(2999);
  EXPECT_EQ(last.start_ns + last.duration_ns, trace.range.start_ns[0] + trace.range.duration_ns[0]);
  EXPECT_NEAR(static_cast<double>(last.duration_ns), 1'234'567 * (1 - 60e-6), 20);
  EXPECT_EQ(trace.kernel.start_ns[3000], 17);  // a stamp of a device
  EXPECT_EQ(trace.kernel.duration_ns[3000], 4);
  EXPECT_NEAR(static_cast<double>(trace.process.start_ns[0]), -3598e9, 1e9);
  EXPECT_TRUE(trace.clock_offset.empty());
}

TEST(RankClocks, ConvertTimesOfDamagedTraces) {
  Trace facts = ranksWithClocks({"a", "b"});
  compare(facts, 0, "b", 0, kSecond, 100, [](int64_t) { return 7; });
  const RankClocks clocks(facts);
  for (const int64_t time : {INT64_MIN, INT64_MIN + 1, int64_t{-1}, INT64_MAX}) {
    for (const int64_t length : {INT64_MIN, int64_t{-1}, int64_t{1}, INT64_MAX}) {
      Trace trace;
      trace.kernel.push({.start_ns = time,
                         .duration_ns = length,
                         .queued_before_ns = length,
                         .submitted_before_ns = length});
      trace.process.push({.start_ns = time, .end_ns = length});
      EXPECT_GE(clocks.convertToFirst(1, trace), 0);
      if (length > 0) {
        EXPECT_GE(trace.kernel.duration_ns[0], 0);
      }
    }
  }
}

}  // namespace
}  // namespace tracesmith
