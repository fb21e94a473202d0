// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/kernel_stats.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

using test::sampleProgram;
using test::SampleTrace;
using ::testing::IsEmpty;

TEST(KernelStats, PercentilesAreTheSmallestValuesThatCoverTheirShare) {
  std::mt19937 chance(3);
  for (size_t n = 1; n < 250; ++n) {
    std::vector<int64_t> values;
    for (size_t i = 0; i < n; ++i) values.push_back(chance() % 100);
    auto covers = [&](int percent) {
      for (int64_t v = 0;; ++v) {
        const auto below =
            std::count_if(values.begin(), values.end(), [&](int64_t x) { return x <= v; });
        const bool is_value = std::find(values.begin(), values.end(), v) != values.end();
        if (is_value && static_cast<size_t>(below) * 100 >= n * static_cast<size_t>(percent))
          return v;
      }
    };
    const int64_t p50 = covers(50), p95 = covers(95), p99 = covers(99);
    CompactDurations durations;
    for (const int64_t value : values) durations.add(value);
    const DurationStats s = statsOf(durations);
    EXPECT_EQ(s.count, n);
    EXPECT_EQ(s.p50_ns, p50);
    EXPECT_EQ(s.p95_ns, p95);
    EXPECT_EQ(s.p99_ns, p99);
    EXPECT_EQ(s.min_ns, *std::min_element(values.begin(), values.end()));
    EXPECT_EQ(s.max_ns, *std::max_element(values.begin(), values.end()));
  }
  EXPECT_EQ(statsOf({}).count, 0u);
}

TEST(KernelStats, NamesAreSortedByTotalTimeAndSharesAddUp) {
  const std::vector<NamedStats> stats = kernelStats(sampleProgram().trace);
  ASSERT_EQ(stats.size(), 2u);
  EXPECT_EQ(stats[0].name, "saxpy");
  EXPECT_EQ(stats[0].time.count, 2u);
  EXPECT_EQ(stats[0].time.total_ns, 700'000);
  EXPECT_DOUBLE_EQ(stats[0].time.mean_ns, 350'000);
  EXPECT_DOUBLE_EQ(stats[0].share + stats[1].share, 1);
  EXPECT_EQ(stats[1].first_launches, 1u);
}

TEST(KernelStats, CopiesAreByDirectionAndFillsAreCopies) {
  SampleTrace s = sampleProgram();
  s.fill(static_cast<StreamId>(1), 3'000'000, 10, 64);
  const std::vector<NamedStats> stats = copyStats(s.trace);
  ASSERT_EQ(stats.size(), 3u);
  EXPECT_EQ(stats[0].name, "device_to_host");
  EXPECT_EQ(stats[0].bytes, 4000u);
  EXPECT_EQ(stats[2].name, "fill");
}

TEST(KernelStats, RowsWithoutDeviceTimesAndRowsThatAreNotKeptAreLeftOut) {
  SampleTrace s = sampleProgram();
  s.kernel("unknown", static_cast<StreamId>(1), 0, 5, 9, ShapeId::kNone, op_flags::kNoDeviceTime);
  EXPECT_EQ(kernelStats(s.trace).size(), 2u);
  EXPECT_THAT(kernelStats(s.trace, [](TableId, size_t) { return false; }), IsEmpty());
  const auto only_first = kernelStats(s.trace, [](TableId, size_t row) { return row == 0; });
  ASSERT_EQ(only_first.size(), 1u);
  EXPECT_EQ(only_first[0].time.count, 1u);
}

TEST(KernelStats, OneNameUnderTwoStringIdsIsOneName) {
  SampleTrace s;
  const StreamId stream = s.stream(s.device("gpu"));
  s.kernel("k", stream, 0, 10);
  s.kernel("x", stream, 10, 1);
  s.trace.strings.append("k");  // as in a file whose writer was resumed
  s.trace.kernel.name.back() = static_cast<StringId>(s.trace.strings.size());
  ASSERT_EQ(s.trace.text(s.trace.kernel.name.back()), "k");
  ASSERT_NE(s.trace.kernel.name[0], s.trace.kernel.name[1]);
  const std::vector<NamedStats> stats = kernelStats(s.trace);
  ASSERT_EQ(stats.size(), 1u);
  EXPECT_EQ(stats[0].time.count, 2u);
}

TEST(KernelStats, HostCallsAreByFunction) {
  const std::vector<NamedStats> stats = hostCallStats(sampleProgram().trace);
  ASSERT_EQ(stats.size(), 4u);
  EXPECT_EQ(stats[0].name, "clEnqueueReadBuffer");
  EXPECT_EQ(std::find_if(stats.begin(), stats.end(),
                         [](const auto& s) { return s.name == "clEnqueueNDRangeKernel"; })
                ->time.count,
            3u);
}

TEST(KernelStats, RangesAreThoseWithAnEnd) {
  Trace trace;
  const StringId step = trace.strings.intern("step");
  trace.range.push({.start_ns = 10, .duration_ns = 30, .name = step});
  trace.range.push({.start_ns = 50, .duration_ns = 10, .name = step});
  trace.range.push({.start_ns = 55, .kind = RangeKind::kInstant, .name = step});
  trace.range.push({.start_ns = 12, .duration_ns = 20, .name = trace.strings.intern("part")});
  const std::vector<NamedStats> stats = rangeStats(trace);
  ASSERT_EQ(stats.size(), 2u);
  EXPECT_EQ(stats[0].name, "step");
  EXPECT_EQ(stats[0].time.count, 2u);
  EXPECT_EQ(stats[0].time.total_ns, 40);
  EXPECT_EQ(stats[1].time.max_ns, 20);
  EXPECT_TRUE(rangeStats(trace, [](TableId, size_t) { return false; }).empty());
}

}  // namespace
}  // namespace tracesmith
