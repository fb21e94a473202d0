// SPDX-License-Identifier: Apache-2.0
// Clocks and networks that are made, so that the truth is known. tests/cli/clock_test.py has real
// ones.
#include "tracesmith/clocks/clock_estimate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace tracesmith::clocks {
namespace {

constexpr double kSecond = 1e9;
constexpr int64_t kFarOffset = 1'700'000'000'000'000'123;  // as between boot time and the calendar

struct Network {
  double forth_ns = 1100, back_ns = 1100;  // without queues
  double jitter_ns = 300;                  // mean of what queues add
  double spikes = 0.02, spike_ns = 100'000;
  double loss = 0;
  double busy_bursts = 0;  // share of bursts of which every message waits
};

/// How far the other clock is ahead, beyond kFarOffset, at a time of this one; both ns.
using Clock = std::function<double(double)>;

class World {
 public:
  World(Clock clock, Network network, uint64_t seed = 1)
      : clock_(std::move(clock)), network_(network), random_(seed) {}

  int64_t truth(double time) const {
    return kFarOffset + static_cast<int64_t>(std::llround(clock_(time)));
  }

  std::vector<OffsetBound> bursts(int seconds, double every_s = 0.5) {
    std::vector<OffsetBound> bounds;
    for (double at = 0; at < seconds * kSecond; at += every_s * kSecond) {
      std::vector<Exchange> burst;
      double time = at + 1e6 * uniform();
      const double waiting = uniform() < network_.busy_bursts ? 50'000 : 0;
      for (int i = 0; i < 16; ++i) {
        const double sent = time;
        const double arrived = sent + delay(network_.forth_ns) + waiting * (0.5 + uniform());
        const double answered = arrived + 500 + 200 * uniform();
        const double back = answered + delay(network_.back_ns) + waiting * (0.5 + uniform());
        time = back + 300;
        if (uniform() < network_.loss) continue;
        burst.push_back(
            {ns(sent), ns(arrived) + truth(arrived), ns(answered) + truth(answered), ns(back)});
      }
      if (const auto bound = boundOf(burst)) bounds.push_back(*bound);
    }
    return bounds;
  }

  double uniform() { return std::uniform_real_distribution<double>()(random_); }

 private:
  static int64_t ns(double time) { return static_cast<int64_t>(time); }
  double delay(double least) {
    double ns = least + std::exponential_distribution<double>(1 / network_.jitter_ns)(random_);
    if (uniform() < network_.spikes) ns += network_.spike_ns * uniform();
    return ns;
  }

  Clock clock_;
  Network network_;
  std::mt19937_64 random_;
};

struct Quality {
  int violations = 0;
  int64_t median_error = 0, p95_error = 0, median_bound = 0;
};

Quality qualityOf(World& world, const ClockEstimate& estimate, double from, double to) {
  std::vector<int64_t> errors, bounds;
  Quality quality;
  for (int i = 0; i < 10'000; ++i) {
    const auto time = static_cast<int64_t>(from + (to - from) * world.uniform());
    const Bounded offset = estimate.offsetAt(time);
    const int64_t error = std::abs(offset.value - world.truth(static_cast<double>(time)));
    quality.violations += error > offset.error + 1;  // that of a whole ns
    errors.push_back(error);
    bounds.push_back(offset.error);
  }
  std::sort(errors.begin(), errors.end());
  std::sort(bounds.begin(), bounds.end());
  quality.median_error = errors[5'000];
  quality.p95_error = errors[9'500];
  quality.median_bound = bounds[5'000];
  return quality;
}

Quality run(const char* name, const Clock& clock, const Network& network, uint64_t seed = 1) {
  World world(clock, network, seed);
  const std::vector<OffsetBound> bounds = world.bursts(60);
  const auto estimate = ClockEstimate::of(bounds);
  EXPECT_TRUE(estimate);
  const Quality q = qualityOf(world, *estimate, 1 * kSecond, 58 * kSecond);
  EXPECT_EQ(q.violations, 0) << name;
  return q;
}

const Clock kAffine = [](double t) { return 23e-6 * t; };
const Clock kWander = [](double t) {  // 1 ppm to and fro within 20 s
  const double period = 20 * kSecond;
  return 5e-6 * t - 1e-6 * period / (2 * M_PI) * std::cos(2 * M_PI * t / period);
};
const Clock kSlew = [](double t) {  // a daemon changes the rate by 5 ppm for a while
  const double from = 20.3 * kSecond, to = 40.7 * kSecond;
  return -8e-6 * t + 5e-6 * (std::clamp(t, from, to) - from);
};
const Clock kFastSlew = [](double t) {  // 500 ppm for 2 s
  return 500e-6 * (std::clamp(t, 30.4 * kSecond, 32.4 * kSecond) - 30.4 * kSecond);
};
const Clock kHaste = [](double t) {  // chrony's fastest, for 60 ms around a burst
  return 83'333e-6 * (std::clamp(t, 29.97 * kSecond, 30.03 * kSecond) - 29.97 * kSecond);
};
const Clock kStep = [](double t) { return 11e-6 * t + (t > 25.43 * kSecond ? 1.5e9 : 0); };

TEST(ClockEstimate, BoundsHoldAndAreNarrow) {
  const Network veth;
  const double half_round_trip = (veth.forth_ns + veth.back_ns) / 2;
  for (const auto& [name, clock] :
       {std::pair("drift", kAffine), std::pair("wander", kWander), std::pair("slew", kSlew),
        std::pair("fast slew", kFastSlew), std::pair("haste", kHaste), std::pair("step", kStep)}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const Quality q = run(name, clock, veth, seed);
      EXPECT_LT(static_cast<double>(q.median_bound), 1.5 * half_round_trip) << name;
      EXPECT_LE(q.median_error, 200) << name;
      EXPECT_LE(q.p95_error, 1000) << name;
    }
  }
}

TEST(ClockEstimate, BadNetworksWidenTheBound) {
  Network slow{.forth_ns = 50'000, .back_ns = 50'000, .jitter_ns = 20'000};
  run("jitter", kWander, slow);
  Network lossy{.loss = 0.5};
  run("half is lost", kWander, lossy);
  Network busy{.busy_bursts = 0.3};
  const Quality q = run("busy now and then", kWander, busy);
  EXPECT_LT(q.median_bound, 5'000);
}

TEST(ClockEstimate, AsymmetryCostsHalfOfIt) {
  const Network uneven{.forth_ns = 1'100, .back_ns = 41'100};
  const Quality q = run("asymmetric", kAffine, uneven);
  EXPECT_LE(q.p95_error, 20'000 + 1'000);
  EXPECT_GE(q.median_error, 19'000) << "no exchange of messages can see it";
}

TEST(ClockEstimate, AcrossAStepTheBoundHasBothSides) {
  World world(kStep, {});
  const auto estimate = ClockEstimate::of(world.bursts(60));
  ASSERT_TRUE(estimate);
  ASSERT_EQ(estimate->steps().size(), 1U);
  EXPECT_LE(estimate->steps()[0].after, 25'430'000'000);
  EXPECT_GE(estimate->steps()[0].before, 25'430'000'000);
  EXPECT_NEAR(static_cast<double>(estimate->steps()[0].by), 1.5e9, 1e5);
  EXPECT_EQ(qualityOf(world, *estimate, 25 * kSecond, 26.1 * kSecond).violations, 0);
  EXPECT_LT(estimate->offsetAt(24'000'000'000).error, 3'000) << "narrow again before it";
}

/// A clock whose rate jumps to another one within `ppm` again and again, every third burst, about.
Clock restless(double ppm, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> share;
  std::vector<double> from = {0}, offset = {0}, rate;
  while (from.back() < 70 * kSecond) {
    const double time = (0.45 + 2.1 * share(random)) * kSecond;
    rate.push_back(ppm * 1e-6 * (2 * share(random) - 1));
    from.push_back(from.back() + time);
    offset.push_back(offset.back() + rate.back() * time);
  }
  return [=](double t) {
    const auto next = std::upper_bound(from.begin() + 1, from.end() - 1, t);
    const auto k = static_cast<size_t>(next - from.begin()) - 1;
    return offset[k] + rate[k] * (t - from[k]);
  };
}

TEST(ClockEstimate, RatesThatChangeAgainAndAgainAreCovered) {
  for (const double ppm : {5.0, 50.0, 400.0}) {
    for (uint64_t seed = 1; seed <= 40; ++seed) run("restless", restless(ppm, seed), {}, seed);
  }
}

TEST(ClockEstimate, ASmallStepIsCoveredWhereverItIs) {
  // Too small to be told from a change of the rate; beside a burst the line between bursts is
  // furthest off.
  for (const double by : {2e3, 20e3, 100e3, 900e3}) {
    for (const double at : {25.002, 25.05, 25.5, 25.95, 0.2, 59.9}) {
      const Clock clock = [&](double t) { return 11e-6 * t + (t > at * kSecond ? by : 0); };
      World world(clock, {});
      const auto estimate = ClockEstimate::of(world.bursts(62));
      ASSERT_TRUE(estimate);
      const double from = std::max(at - 1, 0.01) * kSecond;
      EXPECT_EQ(qualityOf(world, *estimate, from, (at + 1) * kSecond).violations, 0)
          << by << " ns at " << at << " s";
    }
  }
}

TEST(ClockEstimate, BeyondTheFirstAndTheLast) {
  World world(kWander, {});
  const auto estimate = ClockEstimate::of(world.bursts(20));
  ASSERT_TRUE(estimate);
  EXPECT_EQ(qualityOf(world, *estimate, -3 * kSecond, 0).violations, 0);
  EXPECT_EQ(qualityOf(world, *estimate, 19 * kSecond, 23 * kSecond).violations, 0);
  EXPECT_GT(estimate->offsetAt(100'000'000'000).error, estimate->offsetAt(25'000'000'000).error);
}

/// Bounds as a time daemon states them, each `every_s`: wide, and the truth is anywhere in them.
std::vector<OffsetBound> statedBounds(const Clock& clock, double from_s, double to_s,
                                      double every_s, double half_ns, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> side(-1, 1);
  std::vector<OffsetBound> bounds;
  for (double at = from_s; at <= to_s; at += every_s) {
    const double width = half_ns * (1 + 0.3 * side(random));
    const auto middle = static_cast<int64_t>(clock(at * kSecond) + width * side(random));
    const auto half = static_cast<int64_t>(width);
    bounds.push_back({static_cast<int64_t>(at * kSecond), middle - half - 1, middle + half + 1});
  }
  return bounds;
}

void expectCovers(const ClockEstimate& estimate, const Clock& clock, double from_s, double to_s) {
  for (double at = from_s; at < to_s; at += (to_s - from_s) / 997) {
    const auto time = static_cast<int64_t>(at * kSecond);
    const Bounded offset = estimate.offsetAt(time);
    const auto truth = std::llround(clock(static_cast<double>(time)));
    ASSERT_LE(std::abs(offset.value - truth), offset.error + 1) << at << " s";
  }
}

TEST(ClockEstimate, WideBoundsAreNoRate) {
  // Two bounds with different middles, one second apart, would make a rate of 4000 ppm.
  const auto two =
      ClockEstimate::of({{0, -3'000'000, 3'000'000}, {1'000'000'000, -7'000'000, -1'000'000}});
  ASSERT_TRUE(two);
  expectCovers(
      *two, [](double) { return -1'000'000; }, -3600, 3600);
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const auto estimate = ClockEstimate::of(statedBounds(kAffine, 100, 130, 1, 3e6, seed));
    ASSERT_TRUE(estimate);
    expectCovers(*estimate, kAffine, -3600, 3600);
    EXPECT_LT(estimate->offsetAt(115'500'000'000).error, 8'000'000);
    EXPECT_LT(estimate->offsetAt(140'000'000'000).error, 20'000'000);
  }
}

TEST(ClockEstimate, CorrectionsThatEndAfterTheLastMoment) {
  const std::pair<double, double> kinds[] = {{5, 3000}, {500, 60}, {5'000, 5}, {83'333, 1}};
  for (const auto& [ppm, seconds] : kinds) {
    const Clock clock = [ppm = ppm, seconds = seconds](double t) {
      return ppm * 1e-6 * (std::clamp(t, -seconds * kSecond, 20.2 * kSecond));
    };
    World world(clock, {});
    const auto estimate = ClockEstimate::of(world.bursts(20));
    ASSERT_TRUE(estimate);
    EXPECT_EQ(qualityOf(world, *estimate, -200 * kSecond, 200 * kSecond).violations, 0) << ppm;
  }
}

TEST(ClockEstimate, TheRateBeforeItChangedSaysNothing) {
  const Clock clock = [](double t) { return 700e-6 * std::max(t - 50 * kSecond, 0.0); };
  World world(clock, {});
  const auto estimate = ClockEstimate::of(world.bursts(55));
  ASSERT_TRUE(estimate);
  EXPECT_EQ(qualityOf(world, *estimate, 54 * kSecond, 75 * kSecond).violations, 0);
}

TEST(ClockEstimate, AWideBoundThatProvesAStepCounts) {
  const auto offset = [](int64_t at) { return at > 5'200'000'000 && at < 5'700'000'000 ? 1e9 : 0; };
  std::vector<OffsetBound> bounds;
  for (int64_t at = 0; at <= 12'000'000'000; at += 500'000'000) {
    const int64_t half = at == 5'500'000'000 ? 5'000 : 1'100;
    const auto middle = static_cast<int64_t>(offset(at));
    bounds.push_back({at, middle - half, middle + half});
  }
  const auto estimate = ClockEstimate::of(bounds);
  ASSERT_TRUE(estimate);
  expectCovers(
      *estimate, [&](double t) { return offset(static_cast<int64_t>(t)); }, 4, 7);
  EXPECT_EQ(estimate->steps().size(), 2U);
}

TEST(ClockEstimate, CloseBoundsDoNotHideAStep) {
  // Ever narrower ones, each of which would take the place of the one before.
  std::vector<OffsetBound> bounds;
  const auto offset = [](double t) { return t > 5 * kSecond ? 1.5e9 : 0; };
  for (int64_t i = 0; i <= 100; ++i) {
    const int64_t at = i * 100'000'000, half = 3'000'000 - i * 1'000;
    const auto middle = static_cast<int64_t>(offset(static_cast<double>(at)));
    bounds.push_back({at, middle - half, middle + half});
  }
  const auto estimate = ClockEstimate::of(bounds);
  ASSERT_TRUE(estimate);
  expectCovers(*estimate, offset, 0, 10);
  EXPECT_LT(estimate->offsetAt(2'000'000'000).error, 5'000'000);
  // A small one, right after the first bound.
  const auto two = ClockEstimate::of({{0, -1'000'000, 1'000'000},
                                      {400'000'000, 600'000, 2'400'000},
                                      {1'000'000'000, 600'000, 2'400'000},
                                      {2'000'000'000, 600'000, 2'400'000}});
  ASSERT_TRUE(two);
  expectCovers(
      *two, [](double t) { return t > 0.2 * kSecond ? 1.5e6 : 0; }, 0, 2);
}

TEST(ClockEstimate, AFastCorrectionThatTurns) {
  const Clock clock = [](double t) {
    return 83e-3 * (std::min(t, 1.5 * kSecond) - std::max(t - 1.5 * kSecond, 0.0));
  };
  std::vector<OffsetBound> bounds;
  for (int64_t at = 0; at <= 4'000'000'000; at += 1'000'000'000) {
    const auto middle = std::llround(clock(static_cast<double>(at)));
    bounds.push_back({at, middle - 1'100, middle + 1'100});
  }
  const auto estimate = ClockEstimate::of(bounds);
  ASSERT_TRUE(estimate);
  expectCovers(*estimate, clock, 0, 4);
}

TEST(ClockEstimate, SeveralRecordersAskOneDaemon) {
  // Each once a second, at moments of its own; microseconds apart, or anything.
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<OffsetBound> all;
    for (uint64_t rank = 0; rank < 8; ++rank) {
      const double later =
          rank % 2 == 0 ? 1e-6 * static_cast<double>(rank) : 0.11 * static_cast<double>(rank);
      const auto of_rank = statedBounds(kAffine, 10 + later, 40 + later, 1, 2e6, seed * 8 + rank);
      all.insert(all.end(), of_rank.begin(), of_rank.end());
    }
    const auto estimate = ClockEstimate::of(all);
    ASSERT_TRUE(estimate);
    expectCovers(*estimate, kAffine, 0, 60);
    for (int64_t t = 10; t < 40; ++t) {
      EXPECT_LT(estimate->offsetAt(t * 1'000'000'000 + 333).error, 20'000'000) << t;
    }
  }
}

TEST(ClockEstimate, TimesStayInOrder) {
  for (const Clock& clock : {kStep, kHaste, kWander, Clock([](double t) { return -kStep(t); })}) {
    World world(clock, {});
    const std::vector<OffsetBound> bounds = world.bursts(60);
    for (const bool seen_from_other : {false, true}) {
      const auto estimate =
          seen_from_other ? ClockEstimate::seenFromOther(bounds) : ClockEstimate::of(bounds);
      ASSERT_TRUE(estimate);
      int64_t last = INT64_MIN;
      for (double t = -2 * kSecond; t < 62 * kSecond; t += kSecond / 173) {
        const auto own = static_cast<int64_t>(t);
        const int64_t time = seen_from_other ? own + kFarOffset : own;
        const int64_t there = estimate->toOther({time, time, time}).value;
        ASSERT_GE(there, last);
        last = there;
      }
    }
  }
}

TEST(ClockEstimate, HoldsSeenFromTheOtherClock) {
  for (const Clock& clock : {kAffine, kSlew, kHaste, kStep, restless(50, 3)}) {
    World world(clock, {});
    const auto estimate = ClockEstimate::seenFromOther(world.bursts(60));
    ASSERT_TRUE(estimate);
    for (int i = 0; i < 10'000; ++i) {
      const auto time = static_cast<int64_t>((-2 + 64 * world.uniform()) * kSecond);
      const int64_t there = time + world.truth(static_cast<double>(time));
      // From what may be 3 us early or late: that may not be lost.
      for (const int64_t off : {0, 3'000}) {
        const TimeBound back = estimate->toOther({there - off, there, there + off});
        ASSERT_LE(back.low, time - off * 9 / 10 + 1);
        ASSERT_GE(back.high, time + off * 9 / 10 - 1);
        if (off == 0) {
          ASSERT_LE(std::abs(back.value - time), back.error() + 1);
        }
      }
    }
    EXPECT_LT(estimate->toOther({kFarOffset, kFarOffset, kFarOffset}).error(), 10'000'000);
  }
}

TEST(ClockEstimate, AWideTimeCoversWhatIsInIt) {
  World world(kStep, {});
  const auto estimate = ClockEstimate::of(world.bursts(60));
  ASSERT_TRUE(estimate);
  for (const int64_t half : {int64_t{1'000'000}, int64_t{700'000'000}, int64_t{50'000'000'000}}) {
    const int64_t middle = 25'000'000'000;
    const TimeBound there = estimate->toOther({middle - half, middle, middle + half});
    for (int64_t t = middle - half; t <= middle + half; t += half / 50) {
      const int64_t truth = t + world.truth(static_cast<double>(t));
      ASSERT_LE(there.low, truth);
      ASSERT_GE(there.high, truth);
    }
  }
}

TEST(ClockEstimate, OneMomentAlone) {
  const auto estimate = ClockEstimate::of({{1'000, 40, 60}});
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->offsetAt(1'000).value, 50);
  EXPECT_EQ(estimate->offsetAt(1'000).error, 10);
  EXPECT_EQ(estimate->offsetAt(1'001'000).error, 10 + 100'000) << "a tenth of a ms";
  const TimeBound there = estimate->toOther({1'000, 1'000, 1'000});
  EXPECT_EQ(there.value, 1'050);
  EXPECT_EQ(there.low, 1'040);
  EXPECT_EQ(there.high, 1'060);
  EXPECT_FALSE(ClockEstimate::of({}));
}

TEST(ProbeBurst, TimesThatContradictThemselvesCountForNothing) {
  const Exchange good{100, 1'110, 1'115, 130};
  const OffsetBound bound = *boundOf({{good}});
  EXPECT_EQ(bound.low, 1'115 - 130 - 2);  // a tenth of the 15 ns to its middle, and one
  EXPECT_EQ(bound.high, 1'110 - 100 + 2);
  const Exchange wrong[] = {{100, 1'110, 1'105, 130},  // answered before it was asked
                            {130, 1'110, 1'115, 100},  // received before it was sent
                            {100, 1'000, 2'000, 130},  // there for longer than it took
                            {INT64_MIN, INT64_MAX, INT64_MIN, 0}};
  for (const Exchange& each : wrong) {
    EXPECT_FALSE(boundOf({{each}}));
    const Exchange both[] = {each, good};
    EXPECT_EQ(boundOf(both)->low, bound.low);
  }
  EXPECT_FALSE(boundOf({}));
  const Exchange set[] = {good, {200, 9'000, 9'001, 230}};  // the clock was set between them
  EXPECT_FALSE(boundOf(set));
}

}  // namespace
}  // namespace tracesmith::clocks
