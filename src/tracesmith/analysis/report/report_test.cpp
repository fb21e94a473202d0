// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "tracesmith/analysis/critical_path/critical_path.hpp"
#include "tracesmith/analysis/diff/trace_diff.hpp"
#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/analysis/timing/distribution.hpp"
#include "tracesmith/analysis/timing/launch_analysis.hpp"
#include "tracesmith/analysis/timing/time_breakdown.hpp"
#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

using ::testing::ElementsAre;

/// Builds traces with given launch times and kernel intervals.
class Hand {
 public:
  Hand() { trace.device.push({.id = idAt<DeviceId>(0)}); }
  StreamId stream(size_t device = 0) {
    const auto id = idAt<StreamId>(trace.stream.size());
    while (trace.device.size() <= device) {
      trace.device.push({.id = idAt<DeviceId>(trace.device.size())});
    }
    trace.stream.push({.id = id, .device_id = idAt<DeviceId>(device)});
    return id;
  }
  /// launch < 0: not in the trace.
  void kernel(const char* name, StreamId on, int64_t begin, int64_t end, int64_t launch = -1) {
    const uint64_t id = ++next_;
    if (launch >= 0) call("cudaLaunchKernel", launch, launch + 5, CallKind::kLaunch, id);
    trace.kernel.push({.start_ns = begin,
                       .duration_ns = end - begin,
                       .name = trace.strings.intern(name),
                       .stream_id = on,
                       .correlation_id = id});
  }
  void call(const char* name, int64_t begin, int64_t end, CallKind kind, uint64_t id = 0) {
    trace.host_call.push({.start_ns = begin,
                          .duration_ns = end - begin,
                          .name = trace.strings.intern(name),
                          .thread_id = ThreadId{1},
                          .correlation_id = id,
                          .kind = kind});
  }
  /// A host range.
  void range(std::string_view name, int64_t begin, int64_t end) {
    trace.range.push({.start_ns = begin,
                      .duration_ns = end - begin,
                      .name = trace.strings.intern(name),
                      .thread_id = ThreadId{1}});
  }
  Trace trace;

 private:
  uint64_t next_ = 0;
};

TEST(Distribution, QuantilesAreInterpolated) {
  const Distribution d = distributionOf(std::vector<double>{4, 1, 3, 2});
  EXPECT_DOUBLE_EQ(d.mean, 2.5);
  EXPECT_DOUBLE_EQ(d.p50, 2.5);
  EXPECT_DOUBLE_EQ(d.p25, 1.75);
  EXPECT_NEAR(d.deviation, 1.2909944, 1e-6);
  EXPECT_EQ(distributionOf(std::vector<double>()).count, 0U);
  EXPECT_EQ(distributionOf(std::vector<double>{7}).deviation, 0);
}

TEST(WorkClass, CommunicationIsKnownByName) {
  for (const char* name :
       {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", "void rcclKernel<int>", "oneccl_allreduce",
        "ccl_allgather_ring", "hcclAllReduce", "void sglang::cross_device_reduce_1stage<float>"}) {
    EXPECT_EQ(classOfKernel(name), WorkClass::kCommunication) << name;
  }
  for (const char* name : {"ccl_label_components", "ccl_merge", "gemm", "reduce_kernel", ""}) {
    EXPECT_EQ(classOfKernel(name), WorkClass::kCompute) << name;
  }
}

TEST(TimeBreakdown, IsThatOfCountingEachMoment) {
  std::mt19937 chance(5);
  for (int round = 0; round < 200; ++round) {
    Hand hand;
    std::array<StreamId, 3> streams = {hand.stream(), hand.stream(), hand.stream()};
    constexpr size_t kMoments = 300;
    std::vector<uint32_t> running(kMoments, 0);
    for (size_t i = 0; i < 1 + chance() % 20; ++i) {
      const auto begin = static_cast<int64_t>(chance() % 200);
      const auto end = begin + 1 + static_cast<int64_t>(chance() % 60);
      const uint32_t kind = chance() % 3;
      const StreamId on = streams[chance() % 3];
      if (kind == 2) {
        hand.trace.copy.push({.start_ns = begin, .duration_ns = end - begin, .stream_id = on});
      } else {
        hand.kernel(kind == 0 ? "gemm" : "ncclDevKernel_AllReduce", on, begin, end);
      }
      for (int64_t t = begin; t < end; ++t) running[static_cast<size_t>(t)] |= 1u << kind;
    }
    const TimeBreakdown b = breakdownOf(DeviceOps::of(hand.trace));
    std::array<int64_t, 8> together{};
    for (const uint32_t r : running) ++together[r];
    int64_t busy = 0;
    for (size_t i = 1; i < 8; ++i) {
      EXPECT_EQ(b.together_ns[i], together[i]);
      busy += together[i];
    }
    EXPECT_EQ(b.busy_ns, busy);
    EXPECT_EQ(b.busy_ns + b.idle_ns, b.span_ns);
    EXPECT_EQ(b.compute_ns, together[1] + together[3] + together[5] + together[7]);
    if (b.communication_ns > 0) {
      EXPECT_DOUBLE_EQ(*b.overlap, static_cast<double>(together[3] + together[7]) /
                                       static_cast<double>(b.communication_ns));
    } else {
      EXPECT_FALSE(b.overlap);
    }
  }
}

TEST(IdleTime, SaysWhoWasLate) {
  Hand hand;
  const StreamId s = hand.stream();
  hand.kernel("a", s, 100'000, 200'000, 0);
  hand.kernel("b", s, 210'000, 300'000, 50'000);   // launched in time: a short gap
  hand.kernel("c", s, 500'000, 600'000, 400'000);  // launched after b had ended
  hand.kernel("d", s, 900'000, 950'000, 450'000);  // launched in time, and waited for something
  hand.kernel("e", s, 920'000, 930'000, 460'000);  // overlaps: no gap
  const std::vector<IdleTime> idle = idleTimes(DeviceOps::of(hand.trace));
  ASSERT_EQ(idle.size(), 1U);
  EXPECT_EQ(idle[0].kernel_wait_ns, 10'000);
  EXPECT_EQ(idle[0].host_wait_ns, 200'000);
  EXPECT_EQ(idle[0].other_ns, 300'000);
  EXPECT_EQ(idle[0].gaps, 3U);
}

TEST(LaunchAnalysis, LatencyAndDepth) {
  Hand hand;
  const StreamId s = hand.stream();
  hand.kernel("a", s, 100, 200, 0);
  hand.kernel("b", s, 200, 300, 10);
  hand.kernel("c", s, 300, 400);
  const DeviceOps ops = DeviceOps::of(hand.trace);
  const LaunchLatency latency = launchLatency(hand.trace, ops);
  EXPECT_EQ(latency.latency.count, 2U);
  EXPECT_EQ(latency.without_launch, 1U);
  EXPECT_DOUBLE_EQ(latency.latency.max, 190);
  EXPECT_DOUBLE_EQ(latency.delay.min, 95);
  const std::vector<QueueDepth> depths = queueDepths(hand.trace, ops);
  ASSERT_EQ(depths.size(), 1U);
  EXPECT_EQ(depths[0].most, 2);
  EXPECT_DOUBLE_EQ(depths[0].mean_over_time.value(), (10 * 1 + 90 * 2 + 100 * 1) / 200.0);
}

TEST(Distribution, OfCompactDurationsIsThatOfTheValues) {
  std::mt19937_64 random(3);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{2}, size_t{1000}, size_t{40'000}}) {
    CompactDurations durations;
    std::vector<double> values;
    for (size_t i = 0; i < size; ++i) {
      const auto value = static_cast<int64_t>(random() % 9 == 0   ? random() >> 20
                                              : random() % 9 == 0 ? random() % 5
                                                                  : random() >> 33) -
                         (i % 100 == 7 ? int64_t{1} << 40 : 0);
      durations.add(value);
      values.push_back(static_cast<double>(value));
    }
    const Distribution got = distributionOf(durations);
    const Distribution expected = distributionOf(values);
    EXPECT_EQ(got.count, expected.count);
    EXPECT_NEAR(got.sum, expected.sum, std::abs(expected.sum) * 1e-12);
    EXPECT_NEAR(got.deviation, expected.deviation, expected.deviation * 1e-12);
    for (const auto quantile :
         {&Distribution::min, &Distribution::p25, &Distribution::p50, &Distribution::p75,
          &Distribution::p95, &Distribution::p99, &Distribution::max}) {
      EXPECT_EQ(got.*quantile, expected.*quantile);
    }
  }
}

TEST(LaunchAnalysis, DepthsAreThoseAfterEachChange) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE(round);
    QueuedLaunches queue;
    std::vector<std::pair<int64_t, int>>
        changes;  // at the same time, launches (0) come before starts (1)
    const int ops = 1 + static_cast<int>(random() % 40);
    for (int i = 0; i < ops; ++i) {
      const auto launch = static_cast<int64_t>(random() % 100);
      const int64_t begin = launch - 3 + static_cast<int64_t>(random() % 30);
      queue.add(launch, begin);
      changes.emplace_back(std::min(launch, begin), 0);
      changes.emplace_back(begin, 1);
    }
    std::sort(changes.begin(), changes.end());
    std::vector<double> depths;
    int64_t depth = 0, most = 0;
    double area = 0;
    for (size_t i = 0; i < changes.size(); ++i) {
      depth += changes[i].second == 0 ? 1 : -1;
      most = std::max(most, depth);
      depths.push_back(static_cast<double>(depth));
      if (i + 1 < changes.size()) {
        area += static_cast<double>(depth * (changes[i + 1].first - changes[i].first));
      }
    }
    const int64_t span = changes.back().first - changes.front().first;
    const QueueDepth got = queue.finish();
    EXPECT_EQ(got.most, most);
    EXPECT_EQ(got.mean_over_time.has_value(), span > 0);
    if (span > 0) EXPECT_DOUBLE_EQ(*got.mean_over_time, area / static_cast<double>(span));
    const Distribution expected = distributionOf(depths);
    EXPECT_EQ(got.at_changes.count, expected.count);
    EXPECT_EQ(got.at_changes.mean, expected.mean);
    EXPECT_EQ(got.at_changes.deviation, expected.deviation);
    EXPECT_EQ(got.at_changes.p25, expected.p25);
    EXPECT_EQ(got.at_changes.p99, expected.p99);
    EXPECT_EQ(got.at_changes.max, expected.max);
  }
}

TEST(LaunchAnalysis, WhatBeginsBeforeItsLaunchWasInNoQueue) {
  Hand hand;
  const StreamId s = hand.stream();
  hand.kernel("early", s, 50, 100, 80);
  hand.kernel("b", s, 200, 300, 150);
  const DeviceOps ops = DeviceOps::of(hand.trace);
  const std::vector<QueueDepth> depths = queueDepths(hand.trace, ops);
  ASSERT_EQ(depths.size(), 1U);
  EXPECT_DOUBLE_EQ(depths[0].at_changes.min, 0);
  EXPECT_EQ(depths[0].before_launch, 1U);
  EXPECT_DOUBLE_EQ(launchLatency(hand.trace, ops).latency.min, 0);
  EXPECT_EQ(launchLatency(hand.trace, ops).before_launch, 1U);
}

TEST(CriticalPath, GoesFromTheEndToWhatWasWaitedFor) {
  Hand hand;
  const StreamId s = hand.stream();
  hand.kernel("a", s, 100, 300, 50);
  hand.kernel("b", s, 310, 400, 60);
  hand.call("cudaDeviceSynchronize", 80, 420, CallKind::kSync, 77);
  hand.call("work", 420, 500, CallKind::kOther, 78);
  const DeviceOps ops = DeviceOps::of(hand.trace);
  const CriticalPath path = CriticalPath::of(hand.trace, ops);
  std::vector<std::pair<BoundBy, int64_t>> pieces;
  for (const PathSegment& p : path.segments) pieces.emplace_back(p.bound, p.length());
  EXPECT_THAT(pieces,
              ElementsAre(std::pair(BoundBy::kLaunch, 50), std::pair(BoundBy::kCompute, 200),
                          std::pair(BoundBy::kDevice, 10), std::pair(BoundBy::kCompute, 90),
                          std::pair(BoundBy::kHost, 100)));
  EXPECT_THAT(path.slack_ns, ElementsAre(0, 0));
}

TEST(CriticalPath, CoversItsTimeWithoutGapsWhateverHappens) {
  std::mt19937 chance(9);
  for (int round = 0; round < 300; ++round) {
    Hand hand;
    std::array<StreamId, 2> streams = {hand.stream(), hand.stream()};
    for (size_t i = 0; i < 1 + chance() % 15; ++i) {
      const auto begin = static_cast<int64_t>(chance() % 1000);
      hand.kernel("k", streams[chance() % 2], begin, begin + static_cast<int64_t>(chance() % 200),
                  chance() % 3 == 0 ? -1 : static_cast<int64_t>(chance() % 1000));
      const auto wait = static_cast<int64_t>(chance() % 1000);
      if (chance() % 4 == 0) {
        hand.call("cudaStreamSynchronize", wait, wait + 200, CallKind::kSync, 1000 + i);
      }
    }
    const CriticalPath path = CriticalPath::of(hand.trace, DeviceOps::of(hand.trace));
    int64_t at = path.segments.empty() ? path.end_ns : path.begin_ns;
    int64_t sum = 0;
    for (const PathSegment& p : path.segments) {
      ASSERT_EQ(p.begin_ns, at);
      at = p.end_ns;
    }
    ASSERT_EQ(at, path.end_ns);
    for (const int64_t ns : path.total_ns) sum += ns;
    if (!path.segments.empty()) {
      ASSERT_EQ(sum, path.end_ns - path.begin_ns);
    }
    for (const int64_t slack : path.slack_ns) ASSERT_GE(slack, 0);
  }
}

TEST(TraceDiff, FindsWhatChanged) {
  Hand before, after;
  const StreamId a = before.stream();
  const StreamId b = after.stream();
  for (int64_t i = 0; i < 40; ++i) {
    before.kernel("steady", a, i * 1000, i * 1000 + 100 + i % 7);
    after.kernel("steady", b, i * 1000, i * 1000 + 100 + (i + 3) % 7);
    before.kernel("slow", a, i * 1000 + 200, i * 1000 + 300 + i % 5);
    after.kernel("slow", b, i * 1000 + 200, i * 1000 + 350 + i % 5);
  }
  before.kernel("old", a, 90'000, 90'100);
  after.kernel("new", b, 90'000, 90'500);
  std::map<std::string, DiffStatus> status;
  for (const NameDiff& d : diffNames(before.trace, after.trace)) status[d.name] = d.status;
  EXPECT_EQ(status["steady"], DiffStatus::kSame);
  EXPECT_EQ(status["slow"], DiffStatus::kSlower);
  EXPECT_EQ(status["old"], DiffStatus::kVanished);
  EXPECT_EQ(status["new"], DiffStatus::kAppeared);
}

TEST(TraceDiff, TooFewToTellIsNotTheSame) {
  Hand before, after;
  const StreamId a = before.stream();
  const StreamId b = after.stream();
  const auto add = [&](const char* name, int count, int64_t change) {
    for (int64_t i = 0; i < count; ++i) {
      before.kernel(name, a, i * 1000, i * 1000 + 100 + i);
      after.kernel(name, b, i * 1000, i * 1000 + 100 + i + change);
    }
  };
  add("four", 4, 50);
  add("five", 5, 50);
  add("steady five", 5, 2);
  for (int i = 0; i < 4; ++i) add("steady forty", 10, 0);
  add("ten", 10, 50);
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) names.push_back("other " + std::to_string(i));
  for (const std::string& name : names) add(name.c_str(), 10, 0);
  std::map<std::string, DiffStatus> status;
  for (const NameDiff& d : diffNames(before.trace, after.trace)) status[d.name] = d.status;
  EXPECT_EQ(status["four"], DiffStatus::kUnclear);
  EXPECT_EQ(status["five"], DiffStatus::kUnclear) << "among so many names";
  EXPECT_EQ(status["steady five"], DiffStatus::kUnclear) << "it may as well be 6 % slower";
  EXPECT_EQ(status["steady forty"], DiffStatus::kSame);
  EXPECT_EQ(status["ten"], DiffStatus::kSlower);
  EXPECT_EQ(status["other 1"], DiffStatus::kSame);
}

/// A value of the first row whose first column is `name`.
ReportValue valueOf(const std::vector<ReportTable>& report, std::string_view table,
                    const std::string& name, std::string_view column) {
  for (const ReportTable& t : report) {
    if (t.key != table) continue;
    for (const auto& row : t.rows) {
      if (row.front() != ReportValue(name)) continue;
      for (size_t i = 0; i < row.size(); ++i) {
        if (t.columns[i].key == column) return row[i];
      }
    }
  }
  return "not there";
}

TEST(Report, DevicesAreNeverOne) {
  Hand hand;
  hand.kernel("a", hand.stream(0), 0, 50);
  hand.kernel("b", hand.stream(1), 20, 70);
  const std::vector<ReportTable> report = analyze(hand.trace);
  ASSERT_EQ(report[0].key, "gpu_util");
  EXPECT_EQ(report[0].rows.size(), 2U);
  const std::vector<ReportTable> diff = diffReport(hand.trace, hand.trace);
  EXPECT_EQ(valueOf(diff, "diff", "device busy", "a_ns"), ReportValue(int64_t{100}));
  EXPECT_EQ(diff[0].note, "times are summed over devices: 2 in A, 2 in B");
  EXPECT_TRUE(analyze(Trace())[0].rows.empty());
}

TEST(Report, WhatIsLeftOutIsSaid) {
  Hand hand;
  for (int64_t i = 0; i < 20; ++i) {
    const StreamId stream = hand.stream();
    hand.kernel(("k" + std::to_string(i)).c_str(), stream, 100 + i, 120 + 2 * i, i);
    hand.kernel("k0", stream, 900, 901, 10 + i);
  }
  size_t cut = 0;
  for (const ReportTable& table : analyze(hand.trace, {.limit = 3, .longest = 4})) {
    EXPECT_LE(table.rows.size(), 4U) << table.key;
    cut += table.note.find("more (--limit 0 shows all)") != std::string::npos;
  }
  EXPECT_EQ(cut, 7U) << "idle, streams, kernels, longest ops, queue, pieces, names";
  for (const ReportTable& table : analyze(hand.trace, {.limit = 0, .longest = 0})) {
    EXPECT_EQ(table.note.find(" more"), std::string::npos) << table.key;
  }
}

TEST(Report, ImpossibleShapesAreNoShapes) {
  Hand hand;
  hand.trace.device.warp_size[0] = 32;
  hand.trace.device.max_threads_per_unit[0] = 2048;
  hand.kernel("k", hand.stream(), 0, 10);
  hand.trace.launch_shape.push({.global_x = ~uint64_t{0},
                                .global_y = 5,
                                .global_z = 5,
                                .local_x = 4294967295u,
                                .local_y = 641,
                                .local_z = 6700417});
  hand.trace.kernel.shape_id[0] = idAt<ShapeId>(0);
  for (const ReportTable& table : analyze(hand.trace)) {
    if (table.key == "occupancy") {
      EXPECT_TRUE(table.rows.empty());
    }
  }
}

TEST(Report, OccupancyKnowsHowManyBlocksAUnitHolds) {
  Hand hand;
  hand.trace.device.backend[0] = PlatformType::CUDA;
  hand.trace.device.warp_size[0] = 32;
  hand.trace.device.max_threads_per_unit[0] = 1536;
  hand.trace.device.compute_major[0] = 8;
  hand.trace.device.compute_minor[0] = 6;
  hand.kernel("k", hand.stream(), 0, 10);
  hand.trace.launch_shape.push(
      {.global_x = 32000, .global_y = 1, .global_z = 1, .local_x = 32, .local_y = 1, .local_z = 1});
  hand.trace.kernel.shape_id[0] = idAt<ShapeId>(0);
  std::vector<ReportTable> report = analyze(hand.trace);
  EXPECT_EQ(valueOf(report, "occupancy", "k", "blocks_per_unit"), ReportValue(int64_t{16}));
  EXPECT_EQ(valueOf(report, "occupancy", "k", "limit"), ReportValue("blocks"));
  EXPECT_EQ(valueOf(report, "occupancy", "k", "occupancy"), ReportValue(16.0 / 48));
  hand.trace.device.compute_major[0] = 77;
  report = analyze(hand.trace);
  EXPECT_EQ(valueOf(report, "occupancy", "k", "limit"), ReportValue("threads"));
}

TEST(Report, StreamsOfOneNumberAreToldApart) {
  test::SampleTrace s;
  const DeviceId device = s.device("GPU");
  const ProcessId first = s.process(11, "a");
  const ProcessId second = s.process(22, "b");
  for (const ProcessId process : {first, second, second}) {
    const StreamId stream = s.stream(device, process);
    s.trace.stream.ordinal.back() = 7;
    s.kernel("k", stream, 0, 10 + static_cast<int64_t>(s.trace.kernel.size()));
  }
  size_t distinguished = 0;
  for (const ReportTable& table : analyze(s.trace)) {
    std::set<std::vector<ReportValue>> places;
    size_t names = 0;
    for (const auto& row : table.rows) {
      ASSERT_EQ(row.size(), table.columns.size()) << table.key;
      std::vector<ReportValue> place;
      for (size_t i = 0; i < row.size(); ++i) {
        const std::string& key = table.columns[i].key;
        if (key == "process" || key == "stream") place.push_back(row[i]);
      }
      if (place.size() == 2) ++names, places.insert(place);
    }
    EXPECT_EQ(places.size(), names) << table.key;
    distinguished += names == 3;
  }
  EXPECT_EQ(distinguished, 3U) << "idle, streams, longest ops";
}

TEST(Report, EveryPartOfNothingIsHarmless) {
  for (const ReportTable& table : analyze(Trace())) {
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.key;
    EXPECT_FALSE(table.rows.empty() && table.note.empty()) << table.key << " says nothing";
  }
  const ReportValue nothing = std::monostate{};
  EXPECT_EQ(valueOf(analyze(Trace()), "launch", "call", "mean_ns"), nothing) << "0 of 0";
  EXPECT_EQ(valueOf(analyze(Trace()), "launch", "call", "std_ns"), nothing);
  const Trace sample = std::move(test::sampleProgram().trace);
  for (const ReportTable& table : analyze(sample)) {
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.key;
  }
  EXPECT_FALSE(diffReport(sample, Trace()).empty());
}

}  // namespace
}  // namespace tracesmith
