// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/timeline_picture.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

using test::sampleProgram;
using test::SampleTrace;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TimelinePicture picture(const Trace& trace, PictureOptions options) {
  return pictureOf(deviceTimelines(trace), options);
}

TEST(TimelinePicture, TwoKernelsBackToBackAreAHundredPercent) {
  SampleTrace s;
  const StreamId stream = s.stream(s.device("gpu"));
  s.kernel("a", stream, 5'000'000, 1'000'000);
  s.kernel("b", stream, 6'000'000, 1'000'000);
  const TimelinePicture p = picture(s.trace, {.cells = 7});
  ASSERT_EQ(p.devices.size(), 1u);
  EXPECT_THAT(p.devices[0].busy_by_cell, Each(DoubleNear(1, 1e-12)));
  EXPECT_DOUBLE_EQ(p.devices[0].busy, 1);
  EXPECT_THAT(p.devices[0].concurrency, Each(1u));
  EXPECT_EQ(p.operations, 2u);
}

TEST(TimelinePicture, CellsHoldTheSharesOfTheirTime) {
  const TimelinePicture p = picture(sampleProgram().trace, {.cells = 7});  // 1.0 to 2.4 ms
  ASSERT_EQ(p.devices.size(), 1u);
  ASSERT_EQ(p.devices[0].streams.size(), 2u);
  const StreamPicture& first = p.devices[0].streams[0];
  const StreamPicture& second = p.devices[0].streams[1];
  auto near = [](double v) { return DoubleNear(v, 1e-9); };
  EXPECT_THAT(first.memory,
              ElementsAre(near(1), near(0), near(0), near(0), near(0), near(0), near(0)));
  EXPECT_THAT(first.kernels,
              ElementsAre(near(0), near(1), near(1), near(0.5), near(1), near(0), near(0)));
  EXPECT_THAT(second.kernels,
              ElementsAre(near(0), near(0), near(0.5), near(0), near(0), near(0), near(0)));
  EXPECT_THAT(second.memory,
              ElementsAre(near(0), near(0), near(0), near(0), near(0), near(1), near(1)));
  EXPECT_THAT(p.devices[0].concurrency, ElementsAre(1, 1, 2, 1, 1, 1, 1));
  EXPECT_NEAR(first.busy, 0.9 / 1.4, 1e-9);
  EXPECT_NEAR(p.devices[0].busy, 1.3 / 1.4, 1e-9);
}

TEST(TimelinePicture, AWindowClipsWhatReachesIntoIt) {
  const TimelinePicture p =
      picture(sampleProgram().trace, {.from_ns = 1'600'000, .to_ns = 1'900'000, .cells = 3});
  ASSERT_EQ(p.devices.size(), 1u);
  EXPECT_EQ(p.operations, 2u);
  ASSERT_EQ(p.devices[0].streams.size(), 1u);
  EXPECT_THAT(p.devices[0].streams[0].kernels,
              ElementsAre(DoubleNear(1, 1e-9), DoubleNear(0, 1e-9), DoubleNear(1, 1e-9)));
}

TEST(TimelinePicture, OverlapInOneStreamCountsOnceAndMarkersNotAtAll) {
  SampleTrace s;
  const StreamId stream = s.stream(s.device("gpu"));
  s.kernel("a", stream, 0, 60);
  s.kernel("b", stream, 30, 30);
  s.kernel("c", stream, 90, 10);
  s.trace.sync.push({.start_ns = 60, .duration_ns = 30, .stream_id = stream});
  const TimelinePicture p = picture(s.trace, {.cells = 10});
  EXPECT_NEAR(p.devices[0].busy, 0.7, 1e-12);
  EXPECT_EQ(p.devices[0].most_concurrent, 2u);
  EXPECT_EQ(p.operations, 3u);
}

TEST(TimelinePicture, TheBusiestStreamsAreKeptAndTheRestIsCounted) {
  SampleTrace s;
  const DeviceId device = s.device("gpu");
  for (int64_t i = 0; i < 10; ++i) {
    const StreamId stream = s.stream(device);
    s.kernel("k", stream, 0, i % 2 == 0 ? 100 : 50);
  }
  const TimelinePicture p = picture(s.trace, {.cells = 4, .max_streams = 7});
  EXPECT_EQ(p.streams_left_out, 3u);
  size_t whole = 0;
  for (const StreamPicture& stream : p.devices[0].streams) whole += stream.busy > 0.9;
  EXPECT_EQ(p.devices[0].streams.size(), 7u);
  EXPECT_EQ(whole, 5u);
  EXPECT_EQ(p.devices[0].most_concurrent, 10u);
  EXPECT_TRUE(picture(s.trace, {.cells = 4, .max_streams = 0}).devices[0].streams.empty());
}

TEST(TimelinePicture, NothingGivesNothing) {
  SampleTrace s;
  EXPECT_TRUE(picture(s.trace, {}).devices.empty());
  const StreamId stream = s.stream(s.device("gpu"));
  s.kernel("empty", stream, 100, 0);
  EXPECT_TRUE(picture(s.trace, {}).devices.empty());
  EXPECT_TRUE(picture(sampleProgram().trace, {.from_ns = 9, .to_ns = 10}).devices.empty());
  EXPECT_TRUE(picture(sampleProgram().trace, {.from_ns = 10, .to_ns = 10}).devices.empty());
}

TEST(TimelinePicture, TimesAtTheEndsOfTheWorldAreHarmless) {
  std::vector<StreamTimeline> timelines(1);
  timelines[0].spans = {{kMin, kMin + 10, TableId::kKernel, 0},
                        {-5, 5, TableId::kCopy, 0},
                        {kMax - 10, kMax, TableId::kFill, 0}};
  const TimelinePicture p = pictureOf(timelines, {.cells = 3});
  ASSERT_EQ(p.devices.size(), 1u);
  EXPECT_THAT(p.devices[0].concurrency, ElementsAre(1, 1, 1));
  for (double share : p.devices[0].busy_by_cell) EXPECT_TRUE(share >= 0 && share <= 1);
}

}  // namespace
}  // namespace tracesmith
