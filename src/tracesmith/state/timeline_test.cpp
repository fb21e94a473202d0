// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/timeline.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
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

TEST(Timeline, MergedKeepsWhatEndsBeforeItBegins) {
  EXPECT_THAT(mergedOf({{5, 4}, {5, 8}, {8, 9}, {20, 10}, {15, 16}}),
              ElementsAre(Interval{5, 4}, Interval{5, 9}, Interval{15, 16}, Interval{20, 10}));
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
  EXPECT_DOUBLE_EQ(timeline.gpu_utilization, 100.0 / 300.0) << "of kernels";
  ASSERT_EQ(timeline.devices.size(), 1U);
  EXPECT_EQ(timeline.devices[0].busy_ns, 200);
  EXPECT_EQ(timeline.devices[0].kernel_ns, 100);
  EXPECT_EQ(timeline.time_at_concurrency, (std::vector<int64_t>{100, 150, 50}));
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
  std::vector<Interval> spans;
  for (const StreamTimeline& stream : deviceTimelines(trace)) {
    for (const DeviceSpan& span : stream.spans) spans.push_back({span.begin_ns, span.end_ns});
  }
  EXPECT_EQ(timeline.devices.at(0).busy_ns, concurrencyOf(spans).busy_ns);
  EXPECT_EQ(timeline.max_concurrent_ops, concurrencyOf(spans).most);
  const Timeline direct = timelineOf(trace);
  EXPECT_EQ(direct.gpu_utilization, timeline.gpu_utilization);
  ASSERT_EQ(direct.spans.size(), timeline.spans.size());
  for (size_t i = 0; i < direct.spans.size(); ++i) {
    EXPECT_EQ(direct.spans[i].name, timeline.spans[i].name);
    EXPECT_EQ(direct.spans[i].start_time, timeline.spans[i].start_time);
    EXPECT_EQ(direct.spans[i].end_time, timeline.spans[i].end_time);
    EXPECT_EQ(direct.spans[i].correlation_id, timeline.spans[i].correlation_id);
    EXPECT_EQ(direct.spans[i].type, timeline.spans[i].type);
  }
  builder.clear();
  builder.addEvents(toEvents(trace));
  EXPECT_EQ(builder.build().gpu_utilization, timeline.gpu_utilization);
}

/// Reference: counts every moment.
TEST(TimelineBuilder, IsRightWhateverOverlaps) {
  std::mt19937 chance(11);
  for (int round = 0; round < 300; ++round) {
    TimelineBuilder builder;
    constexpr size_t kMoments = 400;
    std::array<std::vector<uint32_t>, 3> all, kernels;
    for (auto& d : all) d.assign(kMoments, 0);
    for (auto& d : kernels) d.assign(kMoments, 0);
    const size_t spans = 1 + chance() % 40;
    for (size_t i = 0; i < spans; ++i) {
      TraceEvent event(chance() % 2 == 0 ? EventType::KernelComplete : EventType::MemcpyH2D,
                       chance() % 300);
      event.duration = 1 + chance() % 60;
      event.device_id = chance() % 3;
      event.stream_id = chance() % 4;
      builder.addEvent(event);
      for (uint64_t t = event.timestamp; t < event.timestamp + event.duration; ++t) {
        ++all[event.device_id][t];
        if (event.type == EventType::KernelComplete) ++kernels[event.device_id][t];
      }
    }
    const Timeline timeline = builder.build();
    std::vector<int64_t> at(50, 0);
    size_t most = 0;
    size_t first = kMoments, last = 0;
    for (size_t t = 0; t < kMoments; ++t) {
      if (all[0][t] + all[1][t] + all[2][t] == 0) continue;
      first = std::min(first, t);
      last = t;
    }
    for (size_t t = first; t <= last; ++t) {
      const size_t n = all[0][t] + all[1][t] + all[2][t];
      most = std::max(most, n);
      ++at[n];
    }
    at.resize(most + 1);
    ASSERT_EQ(timeline.max_concurrent_ops, most);
    ASSERT_EQ(timeline.time_at_concurrency, at);
    ASSERT_EQ(timeline.total_duration, last - first + 1);
    for (const Timeline::Device& d : timeline.devices) {
      const auto busy = [](const std::vector<uint32_t>& n) {
        return std::count_if(n.begin(), n.end(), [](uint32_t v) { return v > 0; });
      };
      ASSERT_EQ(d.busy_ns, busy(all[d.device_id]));
      ASSERT_EQ(d.kernel_ns, busy(kernels[d.device_id]));
      ASSERT_EQ(d.most_concurrent,
                *std::max_element(all[d.device_id].begin(), all[d.device_id].end()));
    }
    for (const TimelineSpans::Stream& s : timeline.spans.streams()) {
      const std::vector<uint32_t> lanes = timeline.spans.lanes(s);
      for (size_t a = s.begin; a < s.end; ++a) {
        for (size_t b = a + 1; b < s.end; ++b) {
          if (lanes[a - s.begin] != lanes[b - s.begin]) continue;
          ASSERT_LE(timeline.spans.endNs(a), timeline.spans.startNs(b)) << "in one lane";
        }
      }
    }
  }
}

TEST(TimelineBuilder, TracesBeyondTheEndOfTimeAreHarmless) {
  SampleTrace s;
  const StreamId stream = s.stream(s.device("gpu"));
  s.kernel("a", stream, 0, 1000);
  s.kernel("b", stream, 9223372036854775000, 100000);
  EXPECT_EQ(timelineOf(s.trace).max_concurrent_ops, 1U);
  TimelineBuilder builder;
  builder.addTrace(s.trace);
  EXPECT_EQ(builder.build().max_concurrent_ops, 1U);
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
