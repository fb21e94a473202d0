// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/timeline.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <random>

#include "tracesmith/state/sample_trace_test_util.hpp"
#include "tracesmith/state/timeline_builder.hpp"

namespace tracesmith {

bool operator==(const Interval& a, const Interval& b) {
  return a.begin_ns == b.begin_ns && a.end_ns == b.end_ns;
}

namespace {

using test::sampleProgram;
using test::SampleTrace;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Timeline, UnionIsSortedDisjointAndWithoutEmptyOnes) {
  EXPECT_THAT(unionOf({{5, 7}, {1, 3}, {3, 4}, {9, 9}, {6, 8}, {20, 10}}),
              ElementsAre(Interval{1, 4}, Interval{5, 8}));
  EXPECT_THAT(unionOf({}), IsEmpty());
  const std::vector<Interval> all = unionOf({{1, 4}, {5, 8}});
  EXPECT_EQ(totalNs(all), 6);
}

TEST(Timeline, WhatEndsAndWhatBeginsAtOneMomentDoNotOverlap) {
  const std::vector<Interval> chain = {{0, 10}, {10, 20}, {20, 30}};
  const Concurrency c = concurrencyOf(chain);
  EXPECT_EQ(c.most, 1u);
  EXPECT_EQ(c.busy_ns, 30);
  EXPECT_EQ(c.steps.size(), 2u);
  EXPECT_DOUBLE_EQ(c.mean_when_busy, 1);
}

TEST(Timeline, ConcurrencyIsThatOfCountingEachMoment) {
  std::mt19937 chance(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Interval> intervals;
    std::vector<uint32_t> open(64, 0);
    for (int i = 0; i < 12; ++i) {
      const int64_t begin = chance() % 60;
      const int64_t end = begin + chance() % 5;
      intervals.push_back({begin, end});
      for (int64_t t = begin; t < end; ++t) ++open[static_cast<size_t>(t)];
    }
    const Concurrency c = concurrencyOf(intervals);
    int64_t busy = 0;
    uint32_t most = 0;
    uint64_t area = 0;
    for (uint32_t n : open) {
      busy += n > 0;
      most = std::max(most, n);
      area += n;
    }
    EXPECT_EQ(c.busy_ns, busy);
    EXPECT_EQ(c.most, most);
    EXPECT_EQ(totalNs(unionOf(intervals)), busy);
    if (busy > 0) {
      EXPECT_DOUBLE_EQ(c.mean_when_busy, static_cast<double>(area) / static_cast<double>(busy));
    }
  }
}

TEST(Timeline, DevicesAreMeasuredAgainstTheSameSpan) {
  SampleTrace s;
  const StreamId a = s.stream(s.device("a"));
  const StreamId b = s.stream(s.device("b"));
  s.kernel("k", a, 0, 100);
  s.kernel("k", b, 150, 50);
  const std::vector<DeviceUse> uses = deviceUse(deviceTimelines(s.trace));
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_DOUBLE_EQ(uses[0].utilization, 0.5);
  EXPECT_DOUBLE_EQ(uses[1].utilization, 0.25);
}

TEST(Timeline, WorkWithoutDeviceTimesIsNotOnIt) {
  SampleTrace s;
  const StreamId stream = s.stream(s.device("gpu"));
  s.kernel("unknown", stream, 0, 100, 0, ShapeId::kNone, op_flags::kNoDeviceTime);
  EXPECT_THAT(deviceTimelines(s.trace), IsEmpty());
  s.kernel("known", stream, 0, 100);
  EXPECT_EQ(deviceTimelines(s.trace).at(0).spans.size(), 1u);
}

TEST(Timeline, TheEndsOfTimeAreHarmless) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const Concurrency c = concurrencyOf(std::vector<Interval>{{kMin, -1}, {0, kMax}, {5, 4}});
  EXPECT_EQ(c.most, 1u);
}

TEST(TimelineBuilder, TwoKernelsBackToBackAreAHundredPercent) {
  TimelineBuilder builder;
  for (uint64_t i = 0; i < 2; ++i) {
    TraceEvent launch(EventType::KernelLaunch, 1'000 + i * 5'000);
    launch.duration = 4'000;  // the host's time is not the device's
    launch.correlation_id = i + 1;
    TraceEvent kernel(EventType::KernelComplete, 1'000'000 + i * 1'000'000);
    kernel.duration = 1'000'000;
    kernel.correlation_id = i + 1;
    kernel.name = "k";
    builder.addEvents(std::vector<TraceEvent>{launch, kernel});
  }
  const Timeline timeline = builder.build();
  EXPECT_DOUBLE_EQ(timeline.gpu_utilization, 1.0);
  EXPECT_EQ(timeline.total_duration, 2'000'000u);
  EXPECT_EQ(timeline.max_concurrent_ops, 1u);
  ASSERT_EQ(timeline.spans.size(), 2u);
  EXPECT_EQ(timeline.spans[1].correlation_id, 2u);
  EXPECT_EQ(timeline.spans[1].start_time, 2'000'000u);
  EXPECT_EQ(timeline.spans[1].end_time, 3'000'000u);
}

TEST(TimelineBuilder, OverlapCountsOnceAndGapsCount) {
  TimelineBuilder builder;
  auto add = [&](EventType type, uint64_t start, uint64_t duration, uint32_t stream) {
    TraceEvent event(type, start);
    event.duration = duration;
    event.stream_id = stream;
    builder.addEvent(event);
  };
  add(EventType::KernelComplete, 0, 100, 0);
  add(EventType::MemcpyH2D, 50, 100, 1);
  add(EventType::StreamSync, 150, 100, 0);
  add(EventType::MemsetDevice, 250, 50, 0);
  const Timeline timeline = builder.build();
  EXPECT_DOUBLE_EQ(timeline.gpu_utilization, 200.0 / 300.0);
  EXPECT_EQ(timeline.max_concurrent_ops, 2u);
  builder.clear();
  EXPECT_EQ(builder.build().spans.size(), 0u);
  EXPECT_DOUBLE_EQ(builder.build().gpu_utilization, 0);
}

TEST(TimelineBuilder, AgreesWithTheColumns) {
  const Trace trace = std::move(sampleProgram().trace);
  TimelineBuilder builder;
  builder.addTrace(trace);
  const Timeline timeline = builder.build();
  EXPECT_EQ(timeline.spans.size(), 5u);
  EXPECT_DOUBLE_EQ(timeline.gpu_utilization, deviceUse(deviceTimelines(trace)).at(0).utilization);
}

TEST(TimelineBuilder, TimesBeyondTheEndAreHarmless) {
  TimelineBuilder builder;
  TraceEvent event(EventType::KernelComplete, std::numeric_limits<uint64_t>::max());
  event.duration = std::numeric_limits<uint64_t>::max();
  builder.addEvent(event);
  EXPECT_EQ(builder.build().spans.size(), 1u);
}

}  // namespace
}  // namespace tracesmith
