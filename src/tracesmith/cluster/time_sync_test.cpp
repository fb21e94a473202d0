// SPDX-License-Identifier: Apache-2.0
// tests/cli/clock_test.py and the tests of Python ask real daemons, servers and hosts.
#include "tracesmith/cluster/time_sync.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include "tracesmith/base/clock.hpp"

namespace tracesmith {
namespace {

using ::testing::HasSubstr;

TEST(TimeSync, MethodsHaveNames) {
  for (const TimeSyncMethod method :
       {TimeSyncMethod::SystemClock, TimeSyncMethod::NTP, TimeSyncMethod::PTP, TimeSyncMethod::CUDA,
        TimeSyncMethod::MACA, TimeSyncMethod::Custom}) {
    EXPECT_EQ(stringToTimeSyncMethod(timeSyncMethodToString(method)), method);
  }
  EXPECT_EQ(stringToTimeSyncMethod("system_clock"), TimeSyncMethod::SystemClock);
  EXPECT_EQ(stringToTimeSyncMethod("ntp"), TimeSyncMethod::NTP);
  EXPECT_EQ(stringToTimeSyncMethod("sundial"), std::nullopt);
}

TEST(TimeSync, SystemClockIsTheCalendar) {
  TimeSync sync({.sync_interval_ms = 0});
  EXPECT_FALSE(sync.isInitialized());
  ASSERT_TRUE(sync.initialize());
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(sync.synchronize().success);
  EXPECT_EQ(sync.getSyncCount(), 5u);
  const SyncResult last = sync.getLastSyncResult();
  EXPECT_LT(last.uncertainty_ns, 1'000'000u);
  EXPECT_EQ(last.offset_ns, sync.getCurrentOffset());
  EXPECT_NEAR(sync.getAverageOffset(), static_cast<double>(last.offset_ns), 1e6);
  EXPECT_LT(sync.getOffsetStdDev(), 1e6);
  const int64_t before = clockNs(CLOCK_REALTIME), local = monotonicNs(),
                after = clockNs(CLOCK_REALTIME);
  const int64_t there = sync.toSynchronizedTime(local);
  EXPECT_LT(std::abs(sync.toLocalTime(there) - local), 100'000);
  ASSERT_TRUE(sync.uncertaintyAt(local));
  const auto bound = static_cast<int64_t>(*sync.uncertaintyAt(local));
  EXPECT_LT(bound, 1'000'000);
  EXPECT_GE(there, before - bound);
  EXPECT_LE(there, after + bound);
  sync.clearHistory();
  EXPECT_EQ(sync.getSyncCount(), 0u);
  sync.finalize();
  EXPECT_FALSE(sync.isInitialized());
  EXPECT_EQ(sync.toSynchronizedTime(77), 77);
}

TEST(TimeSync, AsksNoMoreOftenThanConfigured) {
  TimeSync sync({.sync_interval_ms = 60'000});
  const SyncResult first = sync.synchronize();
  ASSERT_TRUE(first.success);
  EXPECT_EQ(sync.synchronize().sync_time, first.sync_time);
  EXPECT_EQ(sync.getSyncCount(), 1u);
}

TEST(TimeSync, TimesThatMakeNoSense) {
  TimeSync sync({.method = TimeSyncMethod::Custom});
  for (const int64_t offset : {INT64_MIN, int64_t{-1}, INT64_MAX}) {
    sync.setManualOffset(offset);
    for (const int64_t time : {INT64_MIN, INT64_MAX}) {
      (void)sync.toSynchronizedTime(time);
      (void)sync.toLocalTime(time);
    }
  }
  sync.setManualOffset(1);
  EXPECT_EQ(sync.toSynchronizedTime(INT64_MAX), INT64_MAX);
  ClockCorrelator correlator;
  correlator.addCorrelationPoint("a", INT64_MIN, INT64_MAX);
  correlator.addCorrelationPoint("a", INT64_MAX, INT64_MIN);
  (void)correlator.applyDriftCorrection("a", INT64_MAX);
  (void)correlator.calculateOffset("a");
}

TEST(TimeSync, OffsetsThatAreSet) {
  TimeSync sync({.method = TimeSyncMethod::Custom});
  EXPECT_THAT(sync.synchronize().error_message, HasSubstr("setManualOffset"));
  sync.setManualOffset(-500);
  ASSERT_TRUE(sync.initialize());
  EXPECT_EQ(sync.toSynchronizedTime(1'000), 500);
  EXPECT_EQ(sync.toLocalTime(500), 1'000);
  EXPECT_EQ(sync.getCurrentOffset(), -500);
  EXPECT_EQ(sync.uncertaintyAt(0), std::nullopt);
}

TEST(TimeSync, TimesOfAGpu) {
  TimeSync sync({.method = TimeSyncMethod::CUDA});
  EXPECT_FALSE(sync.initialize());
  EXPECT_THAT(sync.getLastSyncResult().error_message, HasSubstr("correlateGPUTimestamps"));
  EXPECT_FALSE(sync.correlateGPUTimestamps(0, {}));
  const std::pair<int64_t, int64_t> pairs[] = {{10, 110}, {20, 121}, {30, 900}};
  ASSERT_TRUE(sync.correlateGPUTimestamps(0, pairs));
  EXPECT_EQ(sync.getGPUOffset(0), 101);
  EXPECT_EQ(sync.getGPUOffset(1), 0);
  ASSERT_TRUE(sync.initialize());
  EXPECT_EQ(sync.toSynchronizedTime(121), 20) << "the GPU's time";
  sync.setGPUOffset(1, 7);
  EXPECT_EQ(sync.getGPUOffset(1), 7);
}

TEST(TimeSync, WhatCannotBeAskedSaysWhy) {
  for (const auto& [adapter, why] :
       {std::pair("", "set ptp_interface"), std::pair("lo", "lo: has no hardware clock"),
        std::pair("tracesmith-none", "there is no such network adapter")}) {
    TimeSync ptp({.method = TimeSyncMethod::PTP, .ptp_interface = adapter});
    EXPECT_FALSE(ptp.initialize());
    EXPECT_THAT(ptp.getLastSyncResult().error_message, HasSubstr(why));
  }
  TimeSync server({.method = TimeSyncMethod::NTP, .ntp_server = "127.0.0.1:1"});
  EXPECT_FALSE(server.initialize());
  EXPECT_THAT(server.getLastSyncResult().error_message, HasSubstr("127.0.0.1:1"));
  EXPECT_FALSE(server.synchronizeWithNode("127.0.0.1:1").success);
  EXPECT_THAT(server.synchronizeWithNode(":1").error_message, HasSubstr("names no host"));
}

TEST(ClockCorrelator, OffsetsAndDrift) {
  ClockCorrelator correlator;
  EXPECT_EQ(correlator.calculateOffset("gpu"), std::nullopt);
  EXPECT_EQ(correlator.applyDriftCorrection("gpu", 5), 5);
  constexpr int64_t kCalendar = 1'795'900'707'000'000'000;  // more digits than a double has
  for (int64_t t = 0; t <= 10; ++t) {
    correlator.addCorrelationPoint("gpu", t * 1'000'000'000,
                                   kCalendar + t * 1'000'050'000 + (t % 2 == 0 ? 3 : -3));
  }
  const DriftModel model = correlator.calculateDriftModel("gpu");
  ASSERT_TRUE(model.valid);
  EXPECT_NEAR(model.drift_rate, 50e-6, 1e-9);
  EXPECT_GT(model.r_squared, 0.9999);
  EXPECT_NEAR(
      static_cast<double>(correlator.applyDriftCorrection("gpu", 20'000'000'000) - kCalendar),
      20'001'000'000.0, 20);
  EXPECT_NEAR(static_cast<double>(*correlator.calculateOffset("gpu") - kCalendar), 250'000, 10);
  const int64_t times[] = {5'000'000'000};
  EXPECT_EQ(correlator.correctTimestamps("gpu", times)[0],
            5'000'000'000 + *correlator.calculateOffset("gpu"));
  EXPECT_EQ(correlator.getCorrelationPoints("gpu").size(), 11u);
  correlator.addCorrelationPoint("other", 10, 15);
  EXPECT_FALSE(correlator.calculateDriftModel("other").valid);
  EXPECT_EQ(correlator.applyDriftCorrection("other", 100), 105);
  correlator.clearSource("gpu");
  EXPECT_TRUE(correlator.getCorrelationPoints("gpu").empty());
  correlator.clear();
  EXPECT_TRUE(correlator.getCorrelationPoints("other").empty());
}

}  // namespace
}  // namespace tracesmith
