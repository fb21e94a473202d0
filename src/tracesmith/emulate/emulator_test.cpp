// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/emulate/emulator.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "tracesmith/emulate/emulated_path.hpp"
#include "tracesmith/emulate/emulator_check.hpp"
#include "tracesmith/emulate/gpu_oracle_test_util.hpp"
#include "tracesmith/emulate/what_if.hpp"

namespace tracesmith {
namespace {

using test::GpuOracle;
using test::OracleProgram;
using test::OracleRun;
using test::SampleTrace;
using ::testing::HasSubstr;

/// A random program in which work sometimes shares the device.
OracleRun randomRun(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  OracleProgram program;
  for (int i = 0; i < 200; ++i) {
    program.work(200 + below(9'000));
    const uint32_t stream = below(3);
    switch (below(8)) {
      case 0: {
        const bool to_device = below(2) == 0;
        const uint32_t bytes = 1 + below(400'000);
        program.copy(stream, to_device, bytes, below(3) == 0);
        break;
      }
      case 1:
        program.waitFor(stream, below(3));
        break;
      case 2:
        program.sync(stream);
        break;
      default: {
        const char* const name = below(2) == 0 ? "a" : "b";
        const uint32_t blocks = 1 + below(30);
        program.kernel(name, stream, blocks, 1'000 + below(20'000));
      }
    }
  }
  program.syncAll();
  return GpuOracle({}, 3).run(program.actions);
}

EmulatorGraph graphOf(const Trace& trace, const EmulatorOptions& options = {}) {
  Result<EmulatorGraph> graph = emulatorGraph(trace, options);
  EXPECT_TRUE(graph) << graph.error().toString();
  return graph ? std::move(*graph) : EmulatorGraph();
}
int64_t makespanOf(const EmulatorGraph& graph) {
  const Result<Emulation> times = emulate(graph);
  EXPECT_TRUE(times) << times.error().toString();
  return times ? times->makespan() : 0;
}
int64_t makespanWith(const Trace& trace, const EmulatorGraph& graph, const WhatIf& change) {
  std::vector<WhatIfEffect> effects;
  const Result<EmulatorGraph> other = changed(trace, graph, change, effects);
  EXPECT_TRUE(other) << other.error().toString();
  return other ? makespanOf(*other) : 0;
}

TEST(Emulator, WithRecordedCostsEverythingEndsWhenItEnded) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    const OracleRun run = randomRun(seed);
    const EmulatorGraph graph = graphOf(run.trace.trace, {.recorded_costs = true});
    const Result<Emulation> times = emulate(graph);
    ASSERT_TRUE(times);
    for (uint32_t i = 0; i < graph.ops.size(); ++i) {
      // Durations of kernels that shared the device are rounded once for each kernel that started
      // or ended.
      EXPECT_NEAR(static_cast<double>(times->end_ns[graph.nodeOf(i)]),
                  static_cast<double>(graph.ops[i].end_ns), 50)
          << seed << ", operation " << i;
    }
    EXPECT_NEAR(static_cast<double>(times->makespan()), static_cast<double>(run.makespan_ns), 50);
  }
}

TEST(Emulator, LongerWorkNeverEndsSooner) {
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    const OracleRun run = randomRun(seed);
    const EmulatorGraph graph = graphOf(run.trace.trace);
    int64_t before = 0;
    for (const char* scale : {".:0", ".:0.25", ".:0.5", ".:1", ".:2", ".:8"}) {
      WhatIf change;
      change.scale.push_back(*WhatIf::parseScale(std::string("kernel=") + scale));
      change.scale.push_back(*WhatIf::parseScale(std::string("copy=:") + (scale + 2)));
      const int64_t now = makespanWith(run.trace.trace, graph, change);
      EXPECT_GE(now, before) << seed << ", " << scale;
      before = now;
    }
    before = INT64_MAX;
    for (const char* bandwidth : {"0.25", "0.5", "1", "2x", "16x"}) {
      WhatIf change;
      change.bandwidth.push_back(*WhatIf::parseBandwidth(bandwidth));
      const int64_t now = makespanWith(run.trace.trace, graph, change);
      // The order at a full device may change, so a small increase is possible.
      EXPECT_LE(static_cast<double>(now), 1.01 * static_cast<double>(before))
          << seed << ", " << bandwidth;
      before = now;
    }
  }
}

TEST(Emulator, TheMakespanLiesBetweenTheCriticalPathAndTheSumOfAll) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    const OracleRun run = randomRun(seed);
    const EmulatorGraph graph = graphOf(run.trace.trace);
    const Result<Emulation> times = emulate(graph);
    ASSERT_TRUE(times);
    const EmulatedPath path = EmulatedPath::of(graph, *times);
    EXPECT_EQ(path.length(), times->makespan()) << "the path covers all of it";
    double longest = 0;
    double sum = 0;
    std::vector<double> streams(graph.streams, 0);
    for (const EmulatedOp& op : graph.ops) {
      streams[op.stream] += op.work_ns;
      sum += op.work_ns;
    }
    for (const double stream : streams) longest = std::max(longest, stream);
    for (const HostStep& step : graph.steps) sum += static_cast<double>(step.own_ns);
    for (const EmulatedEdge& edge : graph.edges) {
      sum += static_cast<double>(std::max<int64_t>(edge.offset_ns, 0));
    }
    EXPECT_GE(static_cast<double>(times->makespan()), longest);
    EXPECT_LE(static_cast<double>(times->makespan()), sum);
  }
}

TEST(Emulator, NothingBeginsBeforeWhatItWaitsFor) {
  const OracleRun run = randomRun(77);
  const EmulatorGraph graph = graphOf(run.trace.trace);
  const Result<Emulation> times = emulate(graph);
  ASSERT_TRUE(times);
  for (const EmulatedEdge& edge : graph.edges) {
    const int64_t from = edge.from_start ? times->begin_ns[edge.from] : times->end_ns[edge.from];
    EXPECT_GE(times->begin_ns[edge.to], from + std::min<int64_t>(edge.offset_ns, 0));
  }
}

/// Two ranks on two devices; the second is late to the collective.
SampleTrace twoRanks() {
  SampleTrace s;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    const ProcessId process = s.process(rank + 1, "rank");
    const ThreadId thread = s.thread(process, rank + 1);
    const StreamId stream = s.stream(s.device("GPU"), process);
    const int64_t compute = rank == 0 ? 100'000 : 300'000;
    s.hostCall("cudaLaunchKernel", CallKind::kLaunch, thread, {}, 1'000, 2'000, 1);
    s.hostCall("cudaLaunchKernel", CallKind::kLaunch, thread, {}, 4'000, 2'000, 2);
    s.kernel(rank == 0 ? "short" : "long", stream, 10'000, compute, 1);
    s.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", stream, 11'000 + compute,
             361'000 - (11'000 + compute), 2);
  }
  return s;
}

TEST(Emulator, CollectivesWaitForTheLastRankAndNotForItsRecordedTime) {
  const SampleTrace s = twoRanks();
  const EmulatorGraph graph = graphOf(s.trace);
  ASSERT_EQ(graph.groups.size(), 1U);
  EXPECT_NEAR(static_cast<double>(makespanOf(graph)), 360'000, 2'000);
  WhatIf change;
  change.scale.push_back(*WhatIf::parseScale("kernel=^long$:0.5"));
  EXPECT_NEAR(static_cast<double>(makespanWith(s.trace, graph, change)), 210'000, 2'000)
      << "both ranks end sooner, as both waited for it";
  change.scale.clear();
  change.scale.push_back(*WhatIf::parseScale("kernel=^short$:0.1"));
  EXPECT_NEAR(static_cast<double>(makespanWith(s.trace, graph, change)), 360'000, 2'000)
      << "the rank that waited waits longer";
  change.scale.clear();
  change.scale.push_back(*WhatIf::parseScale("nccl:0.5"));
  EXPECT_NEAR(static_cast<double>(makespanWith(s.trace, graph, change)), 335'000, 2'000)
      << "what all ranks do together is scaled, not the wait";
}

TEST(Emulator, RefusesWhereLaunchesAreUnknownAndSaysHowMany) {
  SampleTrace s;
  const ProcessId process = s.process(1, "p");
  const ThreadId thread = s.thread(process, 1);
  const StreamId stream = s.stream(s.device("GPU"), process);
  for (uint64_t i = 0; i < 100; ++i) {
    const auto at = static_cast<int64_t>(i) * 200'000;
    // Every tenth call is lost.
    if (i % 10 != 5)
      s.hostCall("cudaLaunchKernel", CallKind::kLaunch, thread, {}, at, 2'000, i + 1);
    s.kernel("k", stream, at + 5'000, 20'000, i + 1);
  }
  const Result<EmulatorGraph> refused = emulatorGraph(s.trace);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("10 of 100 operations (10.0 %"));
  EXPECT_THAT(refused.error().message, HasSubstr("--allow-unmatched"));
  const EmulatorGraph graph = graphOf(s.trace, {.allow_unmatched = true});
  EXPECT_EQ(graph.facts.unmatched_unknown, 10U);
  EXPECT_NEAR(static_cast<double>(makespanOf(graph)), 19'825'000, 1'000);
}

TEST(Emulator, WorkThatWasQueuedBeforeTheTraceBeganIsNoReasonToRefuse) {
  SampleTrace s;
  const ProcessId process = s.process(1, "p");
  const ThreadId thread = s.thread(process, 1);
  const StreamId stream = s.stream(s.device("GPU"), process);
  for (uint64_t i = 0; i < 50; ++i) {
    s.kernel("k", stream, 1'000 + static_cast<int64_t>(i) * 10'000, 9'000, i + 1);
    if (i >= 30) {
      s.hostCall("cudaLaunchKernel", CallKind::kLaunch, thread, {}, static_cast<int64_t>(i) * 3'000,
                 2'000, i + 1);
    }
  }
  const EmulatorGraph graph = graphOf(s.trace);
  EXPECT_EQ(graph.facts.unmatched_queued, 30U);
  WhatIf change;
  change.scale.push_back(*WhatIf::parseScale("k:0.5"));
  EXPECT_NEAR(static_cast<double>(makespanWith(s.trace, graph, change)), 50 * 5'500, 2'000)
      << "they follow their stream";
}

/// A program that fills its queue of 300 launches, `times` times; before each it makes `empty`
/// calls without device work. Kernels start 1 us before their call returns.
SampleTrace fullQueue(int times, int empty) {
  SampleTrace s;
  const ProcessId process = s.process(1, "p");
  const ThreadId thread = s.thread(process, 1);
  const StreamId stream = s.stream(s.device("GPU"), process);
  constexpr size_t kRoom = 300;
  std::vector<int64_t> begins;
  int64_t host = 1'000'000;
  int64_t device = 0;
  uint64_t id = 0;
  for (int time = 0; time < times; ++time) {
    for (int i = 0; i < empty; ++i) {
      s.hostCall("cudaMemsetAsync", CallKind::kFill, thread, {}, host, 500, ++id);
      host += 1'000;
    }
    for (int i = 0; i < 900; ++i) {
      int64_t end = host + 4'000 + (i % 5) * 1'000;
      if (begins.size() >= kRoom) end = std::max(end, begins[begins.size() - kRoom] + 2'000);
      s.hostCall("cudaLaunchKernel", CallKind::kLaunch, thread, {}, host, end - host, ++id);
      begins.push_back(std::max(end - 1'000, device + 1'000));
      s.kernel("k", stream, begins.back(), 100'000, id);
      device = begins.back() + 100'000;
      host = end + 1'000;
    }
    s.hostCall("cudaDeviceSynchronize", CallKind::kSync, thread, {}, host, device + 3'000 - host,
               ++id);
    host = device + 13'000;
  }
  return s;
}

TEST(Emulator, CallsWithoutDeviceWorkTakeNoPlaceInAQueue) {
  for (const int times : {1, 2, 3, 6}) {
    for (const int empty : {0, 305}) {
      const SampleTrace s = fullQueue(times, empty);
      const EmulatorGraph graph = graphOf(s.trace);
      EXPECT_NEAR(static_cast<double>(graph.facts.queue_room), 300, 2) << times << ' ' << empty;
      const int64_t recorded = graph.end_ns - graph.begin_ns;
      EXPECT_NEAR(static_cast<double>(makespanOf(graph)), static_cast<double>(recorded),
                  0.01 * static_cast<double>(recorded))
          << times << ' ' << empty;
    }
  }
}

/// Two recordings of one program concatenated, as by tools that do not renumber: each operation of
/// the second has the launch of the first.
TEST(Emulator, OneCorrelationIdForSeveralLaunchesIsNoCircle) {
  SampleTrace s = fullQueue(1, 305);
  HostCallTable& calls = s.trace.host_call;
  KernelTable& kernels = s.trace.kernel;
  const size_t all_calls = calls.size();
  const size_t all_kernels = kernels.size();
  for (int64_t time = 1; time < 4; ++time) {
    for (size_t i = 0; i < all_calls; ++i) {
      HostCallTable::Row row = calls.row(i);
      row.start_ns += time * 100'000'000;
      calls.push(row);
    }
    for (size_t i = 0; i < all_kernels; ++i) {
      KernelTable::Row row = kernels.row(i);
      row.start_ns += time * 100'000'000;
      kernels.push(row);
    }
  }
  const EmulatorGraph graph = graphOf(s.trace);
  EXPECT_GT(makespanOf(graph), 300'000'000);
}

/// Work without a known launch, in the middle of a stream, fills no queue.
TEST(Emulator, WorkWithoutALaunchFillsNoQueue) {
  SampleTrace s = fullQueue(2, 0);
  auto& ids = s.trace.kernel.correlation_id;
  for (size_t i = 850; i < 1'050; i += 25) ids[i] = 0;
  const EmulatorGraph graph = graphOf(s.trace, {.allow_unmatched = true});
  EXPECT_EQ(graph.facts.unmatched_unknown, 8U);
  EXPECT_NEAR(static_cast<double>(graph.facts.queue_room), 300, 4);
}

TEST(Emulator, DamagedTracesGetAMessageOrAnAnswerAndNeverHang) {
  constexpr std::array<int64_t, 8> kOdd = {INT64_MIN, INT64_MIN / 2, -1,       0, 1,
                                           1'000,     INT64_MAX / 2, INT64_MAX};
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    OracleRun run = randomRun(static_cast<uint32_t>(round % 5));
    Trace& t = run.trace.trace;
    const auto odd = [&] { return kOdd[random() % kOdd.size()]; };
    const auto row = [&](const auto& table) { return random() % table.size(); };
    for (int hit = 0; hit < 5; ++hit) {
      switch (random() % 8) {
        case 0:
          t.kernel.start_ns[row(t.kernel)] = odd();
          break;
        case 1:
          t.kernel.duration_ns[row(t.kernel)] = odd();
          break;
        case 2:
          t.host_call.start_ns[row(t.host_call)] = odd();
          break;
        case 3:
          t.host_call.duration_ns[row(t.host_call)] = odd();
          break;
        case 4:
          t.kernel.correlation_id[row(t.kernel)] = t.kernel.correlation_id[row(t.kernel)];
          break;
        case 5:
          t.kernel.stream_id[row(t.kernel)] = static_cast<StreamId>(random() % 9);
          break;
        case 6:
          t.host_call.thread_id[row(t.host_call)] = static_cast<ThreadId>(random() % 5);
          break;
        default:
          if (t.flow.empty()) break;
          t.flow.from_correlation_id[row(t.flow)] = t.kernel.correlation_id[row(t.kernel)];
          t.flow.to_correlation_id[row(t.flow)] = t.kernel.correlation_id[row(t.kernel)];
      }
    }
    const Result<EmulatorGraph> graph = emulatorGraph(t, {.allow_unmatched = round % 2 == 0});
    if (!graph) continue;
    const Result<Emulation> times = emulate(*graph);
    if (times) {
      EXPECT_GE(times->makespan(), 0);
      EXPECT_GE(EmulatedPath::of(*graph, *times).length(), 0);
      if (const Result<Validation> validation = validate(t, *graph); !validation) {
        EXPECT_EQ(validation.error().code, ErrorCode::kDamaged);
      }
    } else {
      EXPECT_EQ(times.error().code, ErrorCode::kDamaged);
    }
  }
}

TEST(Emulator, ACircleIsSaidToBeOne) {
  const OracleRun run = randomRun(3);
  EmulatorGraph graph = graphOf(run.trace.trace);
  graph.edges.push_back({graph.nodeOf(9), graph.nodeOf(2), 0, EmulatedEdgeKind::kEvent});
  graph.edges.push_back({graph.nodeOf(2), graph.nodeOf(9), 0, EmulatedEdgeKind::kEvent});
  const Result<Emulation> times = emulate(graph);
  ASSERT_FALSE(times);
  EXPECT_THAT(times.error().message, HasSubstr("wait for each other in a cycle"));
}

TEST(Emulator, TraceWithoutDeviceWorkIsRefused) {
  const Result<EmulatorGraph> graph = emulatorGraph(Trace());
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("no device work"));
}

TEST(Emulator, TheSecondHalfOfIterationsIsPredictedByTheFirst) {
  SampleTrace s;
  const ProcessId process = s.process(1, "train");
  const ThreadId thread = s.thread(process, 1);
  const StreamId stream = s.stream(s.device("GPU"), process);
  uint64_t id = 0;
  int64_t host = 1'000'000;
  int64_t device = 0;
  for (int step = 0; step < 6; ++step) {
    const int64_t begin = host;
    for (int k = 0; k < 20; ++k) {
      s.hostCall("cudaLaunchKernel", CallKind::kLaunch, thread, {}, host, 3'000, ++id);
      device = std::max(host + 6'000, device + 1'000);
      s.kernel(k % 2 == 0 ? "a" : "b", stream, device, 4'000 + 500 * k, id);
      device += 4'000 + 500 * k;
      host += 5'000;
    }
    s.hostCall("cudaDeviceSynchronize", CallKind::kSync, thread, {}, host, device + 4'000 - host,
               ++id);
    host = device + 4'000 + 20'000;
    s.trace.range.push({.start_ns = begin,
                        .duration_ns = host - begin,
                        .name = s.text("ProfilerStep#" + std::to_string(step)),
                        .process_id = process,
                        .thread_id = thread});
  }
  const EmulatorGraph graph = graphOf(s.trace);
  const Result<Validation> validation = validate(s.trace, graph);
  ASSERT_TRUE(validation);
  EXPECT_EQ(validation->why_not, "");
  ASSERT_EQ(validation->iterations.size(), 3U);
  EXPECT_EQ(validation->known, 3U);
  EXPECT_LT(validation->meanError(), 0.001);
  EXPECT_LT(validation->end_p95_ns, 100);
}

}  // namespace
}  // namespace tracesmith
