// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/clock_map.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace tracesmith {
namespace {

using Snapshot = ClockCurve::Snapshot;

TEST(ClockCurve, IsExactAtItsSnapshots) {
  const ClockCurve curve({{1'000, 50, 7}, {2'000, 1'060, 9}}, 1, 1);
  EXPECT_EQ(curve.toHost(50).ns, 1'000);
  EXPECT_EQ(curve.toHost(50).error_ns, 7);
  EXPECT_EQ(curve.toHost(1'060).ns, 2'000);
  EXPECT_EQ(curve.toHost(1'060).error_ns, 9);
}

TEST(ClockCurve, InterpolatesBetweenSnapshotsWithTheLargerBound) {
  const ClockCurve curve({{1'000, 0, 7}, {3'000, 1'000, 9}}, 1, 1);
  EXPECT_EQ(curve.toHost(500).ns, 2'000);
  EXPECT_EQ(curve.toHost(1).ns, 1'002);
  EXPECT_EQ(curve.toHost(500).error_ns, 9);
}

TEST(ClockCurve, KeepsTheNearestOffsetOutsideAndWidensTheBound) {
  const int64_t second = 1'000'000'000;
  const ClockCurve curve({{10 * second, 0, 5}, {11 * second, second, 5}}, 1, 1);
  const HostTime later = curve.toHost(3 * second);
  EXPECT_EQ(later.ns, 13 * second);
  EXPECT_GE(later.error_ns, 5 + 2 * 500'000);  // 500 ppm of two seconds
  EXPECT_LE(later.error_ns, 5 + 2 * 500'000 + 2);
  const HostTime earlier = curve.toHost(-second);
  EXPECT_EQ(earlier.ns, 9 * second);
  EXPECT_GE(earlier.error_ns, 5 + 500'000);
}

TEST(ClockCurve, SortsSnapshotsThatCameOutOfOrder) {
  const ClockCurve sorted({{100, 0, 1}, {200, 100, 1}, {400, 200, 1}}, 1, 1);
  const ClockCurve shuffled({{400, 200, 1}, {100, 0, 1}, {200, 100, 1}}, 1, 1);
  for (int64_t v = -50; v < 300; v += 7) EXPECT_EQ(sorted.toHost(v).ns, shuffled.toHost(v).ns) << v;
}

TEST(ClockCurve, OfSnapshotsAtOneValueTheMostExactCounts) {
  const ClockCurve curve({{900, 10, 300}, {1'000, 10, 2}}, 1, 1);
  EXPECT_EQ(curve.toHost(10).ns, 1'000);
  EXPECT_EQ(curve.toHost(10).error_ns, 2);
}

TEST(ClockCurve, SnapshotsThatContradictWidenTheBound) {
  const ClockCurve curve({{2'000, 0, 1}, {1'000, 100, 1}}, 1, 1);
  EXPECT_GE(curve.toHost(50).error_ns, 1'000);
}

TEST(ClockCurve, ScalesTicksOf32Nanoseconds) {
  const ClockCurve curve({{1'000, 0, 0}}, 32, 1);
  EXPECT_EQ(curve.durationNs(10), 320);
  EXPECT_EQ(curve.durationNs(-10), -320);
  EXPECT_EQ(curve.toHost(10).ns, 1'320);
}

TEST(ClockCurve, ScalesTicksOf1000Over1024AtLargeStampsWithoutLosingANanosecond) {
  const ClockCurve curve({}, 1'000, 1'024);
  const int64_t large = int64_t{1'024} * 9'000'000'000'000'000;
  EXPECT_EQ(curve.durationNs(large), int64_t{1'000} * 9'000'000'000'000'000);
  EXPECT_EQ(curve.durationNs(1'024), 1'000);
  EXPECT_EQ(curve.durationNs(512), 500);
}

TEST(ClockCurve, ExtremeStampsAndRatesSaturateInsteadOfOverflowing) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const ClockCurve fast({{kMax, kMax, kMax}, {kMin, kMin, kMax}}, ~uint64_t{0}, 1);
  EXPECT_EQ(fast.toHost(kMin).ns, kMin);
  EXPECT_NEAR(static_cast<double>(fast.toHost(0).ns), 0.0, 1.0);
  EXPECT_EQ(fast.durationNs(kMax), kMax);
  EXPECT_EQ(fast.durationNs(kMin), kMin);
  const ClockCurve slow({{0, kMin, 0}}, 1, ~uint64_t{0});
  EXPECT_EQ(slow.toHost(kMax).ns, 1);
}

TEST(ClockCurve, RandomCurvesAreMonotonicAndStayBetweenTheirSnapshots) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Snapshot> snapshots;
    int64_t host = static_cast<int64_t>(random() >> 4);
    int64_t clock = static_cast<int64_t>(random() >> 4);
    for (int i = 0; i < 8; ++i) {
      snapshots.push_back({host, clock, 3});
      host += static_cast<int64_t>(random() % 1'000'000'000);
      clock += 1 + static_cast<int64_t>(random() % 1'000'000'000);
    }
    const ClockCurve curve(snapshots, 1, 1);
    int64_t previous = std::numeric_limits<int64_t>::min();
    const int64_t step = (snapshots.back().clock_value - snapshots[0].clock_value) / 50 + 1;
    for (int64_t c = snapshots[0].clock_value; c <= snapshots.back().clock_value; c += step) {
      const int64_t ns = curve.toHost(c).ns;
      EXPECT_GE(ns, previous);
      EXPECT_GE(ns, snapshots[0].host_ns);
      EXPECT_LE(ns, snapshots.back().host_ns);
      previous = ns;
    }
  }
}

/// A trace with one stream on one device whose clock ticks every 32 ns, one second ahead.
Trace traceWithDeviceClock() {
  Trace trace;
  trace.clock_domain.push(
      {.id = idAt<ClockDomainId>(0), .kind = ClockKind::kBracketed, .tick_numerator = 32});
  trace.device.push({.id = idAt<DeviceId>(0), .clock_domain_id = idAt<ClockDomainId>(0)});
  trace.stream.push({.id = idAt<StreamId>(0), .device_id = idAt<DeviceId>(0)});
  trace.kernel.push({.start_ns = 1'000,
                     .duration_ns = 10,
                     .stream_id = idAt<StreamId>(0),
                     .flags = op_flags::kDeviceClock | op_flags::kQueueTimes,
                     .queued_before_ns = 4,
                     .submitted_before_ns = 2});
  return trace;
}

TEST(ConvertToHostTime, ConvertsStartByTheCurveAndLengthsByTheTickRate) {
  Trace trace = traceWithDeviceClock();
  trace.clock_snapshot.push(
      {.domain_id = idAt<ClockDomainId>(0), .host_ns = 5'000'000, .clock_value = 900});
  EXPECT_EQ(convertToHostTime(trace), 0u);
  EXPECT_EQ(trace.kernel.start_ns[0], 5'000'000 + 100 * 32);
  EXPECT_EQ(trace.kernel.duration_ns[0], 320);
  EXPECT_EQ(trace.kernel.queued_before_ns[0], 128);
  EXPECT_EQ(trace.kernel.submitted_before_ns[0], 64);
  EXPECT_EQ(trace.kernel.flags[0], op_flags::kQueueTimes);
  EXPECT_EQ(convertToHostTime(trace), 0u);  // a second time changes nothing
  EXPECT_EQ(trace.kernel.start_ns[0], 5'000'000 + 100 * 32);
}

TEST(ConvertToHostTime, RowsWithoutASnapshotKeepTheirStampAndAreCounted) {
  Trace trace = traceWithDeviceClock();
  EXPECT_EQ(convertToHostTime(trace), 1u);
  EXPECT_EQ(trace.kernel.start_ns[0], 1'000);
  EXPECT_NE(trace.kernel.flags[0] & op_flags::kDeviceClock, 0u);
}

TEST(ConvertToHostTime, RowsOfAnUnknownStreamAreCountedAndHostRowsAreLeftAlone) {
  Trace trace = traceWithDeviceClock();
  trace.kernel.stream_id[0] = static_cast<StreamId>(99);
  trace.copy.push({.start_ns = 77, .stream_id = idAt<StreamId>(0)});
  EXPECT_EQ(convertToHostTime(trace), 1u);
  EXPECT_EQ(trace.copy.start_ns[0], 77);
}

TEST(ClockMap, TheHostsOwnClockIsExactWithoutSnapshots) {
  Trace trace;
  trace.clock_domain.push({.id = idAt<ClockDomainId>(0), .kind = ClockKind::kHostMonotonic});
  const HostTime time = ClockMap(trace).toHost(idAt<ClockDomainId>(0), 123'456'789'012'345);
  EXPECT_EQ(time.ns, 123'456'789'012'345);
  EXPECT_EQ(time.error_ns, 0);
}

TEST(ConvertToHostTime, ADeviceOnTheHostClockNeedsNoSnapshot) {
  Trace trace = traceWithDeviceClock();
  trace.device.clock_domain_id[0] = ClockDomainId::kNone;
  EXPECT_EQ(convertToHostTime(trace), 0u);
  EXPECT_EQ(trace.kernel.start_ns[0], 1'000);
  EXPECT_EQ(trace.kernel.flags[0], op_flags::kQueueTimes);
}

}  // namespace
}  // namespace tracesmith
