// SPDX-License-Identifier: Apache-2.0
// Simulated device clocks, observed only through the brackets of host calls. The clock that is
// found, and its error bound, must hold at every moment.
#include "tracesmith/capture/clocks/device_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

namespace tracesmith {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 20'000 * kSecond;
constexpr int64_t kRawBehind = 227'000'000;
constexpr int64_t kRealtimeAhead = 1'700'000'000 * kSecond;

using Clock = std::function<int64_t(int64_t host_ns)>;

/// The machine's clocks as HostClocks samples them: the raw one runs 40 ppm slower, with an offset.
int64_t rawOf(int64_t host_ns, int64_t behind = kRawBehind) {
  return host_ns - behind - (host_ns - kStart) / 25'000;
}
HostClocks::Sample sampleAt(int64_t host_ns, int64_t raw_behind = kRawBehind) {
  return {host_ns, {rawOf(host_ns, raw_behind), host_ns, host_ns + kRealtimeAhead}, 30};
}

/// A program that launches about every `every_ns`. Its calls take some us, and now and then a time
/// slice; the device takes its stamps inside them. feed() passes the stamps to `clock`.
struct Launches {
  int64_t every_ns = 1'000'000;
  int64_t duration_ns = 20 * kSecond;
  int64_t raw_behind = kRawBehind;
  unsigned seed = 1;
  int64_t end_ns = 0;

  void feed(DeviceClock& found, HostClocks& clocks, const Clock& clock) {
    std::mt19937 random(seed);
    auto upTo = [&](int64_t n) {
      return std::uniform_int_distribution<int64_t>(0, std::max<int64_t>(n, 1))(random);
    };
    int64_t now = kStart;
    int64_t sampled = 0;
    while (now < kStart + duration_ns) {
      if (now - sampled > kSecond / 10) clocks.add(sampleAt(sampled = now, raw_behind));
      now += every_ns / 2 + upTo(every_ns);
      const bool preempted = upTo(50) == 0;
      const int64_t before = 200 + upTo(preempted ? 4'000'000 : 5'000);
      const int64_t after = 200 + upTo(preempted ? 4'000'000 : 5'000);
      found.observe(now, now + before + after, clock(now + before), clocks);
      now += before + after;
    }
    end_ns = now;
    clocks.add(sampleAt(now, raw_behind));
  }
};

TEST(DeviceClockTest, FindsTheHostClockThatADeviceUses) {
  const struct {
    Clock clock;
    ClockKind kind;
  } cases[] = {
      {[](int64_t t) { return rawOf(t); }, ClockKind::kHostMonotonicRaw},
      {[](int64_t t) { return t; }, ClockKind::kHostMonotonic},
      {[](int64_t t) { return t + kRealtimeAhead; }, ClockKind::kHostRealtime},
      {[](int64_t t) { return t + 5'000 * kSecond; }, ClockKind::kBracketed},
  };
  for (const auto& each : cases) {
    DeviceClock found;
    HostClocks clocks;
    EXPECT_FALSE(found.observed());
    Launches{}.feed(found, clocks, each.clock);
    EXPECT_TRUE(found.observed());
    EXPECT_EQ(found.kind(), each.kind) << toString(found.kind());
    EXPECT_EQ(found.takeBracketSnapshots(true).empty(), each.kind != ClockKind::kBracketed);
  }
}

TEST(DeviceClockTest, OneLaunchIsEnoughToTellClocksThatAreFarApart) {
  DeviceClock found;
  HostClocks clocks;
  clocks.add(sampleAt(kStart));
  found.observe(kStart + 100, kStart + 9'000, rawOf(kStart + 4'000), clocks);
  EXPECT_EQ(found.kind(), ClockKind::kHostMonotonicRaw);
}

TEST(DeviceClockTest, ClocksThatCanNotBeToldApartAddTheirDifferenceToTheBound) {
  // Shortly after boot: the two clocks are 1.5 us apart.
  constexpr int64_t kApart = 1'500;
  for (bool raw : {true, false}) {
    DeviceClock found;
    HostClocks clocks;
    Launches launches{.duration_ns = kSecond / 20, .raw_behind = kApart};
    const Clock clock = [raw](int64_t t) { return raw ? rawOf(t, kApart) : t; };
    launches.feed(found, clocks, clock);
    // CLOCK_MONOTONIC would count as exact, whichever clock is the true one.
    ASSERT_EQ(found.kind(), ClockKind::kHostMonotonicRaw);
    const int64_t at = kStart + kSecond / 40;
    const HostTime t = clocks.toHost(0, clock(at));
    EXPECT_LE(std::abs(t.ns - at), t.error_ns + found.identityError()) << raw;
    EXPECT_LT(found.identityError(), 100'000);
  }
}

TEST(DeviceClockTest, AFewBracketsThatFailDoNotHideTheClock) {
  DeviceClock found;
  HostClocks clocks;
  Launches launches;
  int n = 0;
  // A thread of the driver takes one stamp in 200 after the call.
  launches.feed(found, clocks, [&](int64_t t) { return rawOf(t + (++n % 200 ? 0 : 30'000'000)); });
  EXPECT_EQ(found.kind(), ClockKind::kHostMonotonicRaw);
}

TEST(DeviceClockTest, NonsenseIsNotObserved) {
  DeviceClock found;
  HostClocks clocks;
  found.observe(kStart, kStart - 1, 5, clocks);
  found.observe(kStart, kStart + 1, 0, clocks);
  found.observe(kStart, kStart + 1, INT64_MAX, clocks);
  found.observe(INT64_MIN, INT64_MAX, 7, clocks);
  EXPECT_FALSE(found.observed());
}

struct Invented {
  int64_t drift_ppm;
  int64_t every_ns;
};

class InventedClockTest : public ::testing::TestWithParam<Invented> {};

TEST_P(InventedClockTest, IsMappedWithABoundThatHolds) {
  const int64_t drift_ppm = GetParam().drift_ppm;
  const int64_t every_ns = GetParam().every_ns;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 jitter(seed + 1000);
    const int64_t offset = -19'000 * kSecond;
    const Clock exact = [&](int64_t t) {
      return t + offset + (t - kStart) / 1'000'000 * drift_ppm +
             (t - kStart) % 1'000'000 * drift_ppm / 1'000'000;
    };
    DeviceClock found;
    HostClocks clocks;
    Launches launches{.every_ns = every_ns, .seed = seed};
    // Its stamps tick in steps of 80 ns.
    launches.feed(found, clocks, [&](int64_t t) { return exact(t) / 80 * 80; });
    ASSERT_EQ(found.kind(), ClockKind::kBracketed);
    const auto snapshots = found.takeBracketSnapshots(true);
    ASSERT_GE(snapshots.size(), 2u);
    EXPECT_TRUE(found.takeBracketSnapshots(true).empty()) << "given out twice";
    const ClockCurve curve(snapshots, 1, 1);
    int64_t worst_bound = 0;
    size_t outside = 0;
    for (int64_t t = kStart; t < launches.end_ns; t += 777'777) {
      const HostTime mapped = curve.toHost(exact(t));
      outside += std::abs(mapped.ns - t) > mapped.error_ns + 80;
      const bool within_snapshots = exact(t) >= snapshots.front().clock_value;
      if (within_snapshots) worst_bound = std::max(worst_bound, mapped.error_ns);
    }
    EXPECT_EQ(outside, 0u) << "seed " << seed;
    // Not wider than the length of the calls plus the possible drift between launches.
    EXPECT_LT(worst_bound, 10'000 + every_ns / 1'000) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(, InventedClockTest,
                         ::testing::Values(Invented{0, 1'000'000}, Invented{100, 1'000'000},
                                           Invented{-100, 1'000'000}, Invented{450, 1'000'000},
                                           Invented{100, 300'000'000}, Invented{-450, 20'000'000}),
                         [](const auto& each) {
                           const int64_t ppm = each.param.drift_ppm;
                           return (ppm < 0 ? "Slow" : "Fast") + std::to_string(std::abs(ppm)) +
                                  "ppmEvery" + std::to_string(each.param.every_ns / 1'000'000) +
                                  "ms";
                         });

}  // namespace
}  // namespace tracesmith
