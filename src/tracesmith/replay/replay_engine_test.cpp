// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/replay_engine.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "tracesmith/format/sbt_file.hpp"
#include "tracesmith/replay/plan/recording_test_util.hpp"

namespace tracesmith {
namespace {

using test::RecordingBuilder;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kEngineSource = R"(
kernel void twice(global int* a) { a[get_global_id(0)] *= 2; }
kernel void plus(global int* a) { a[get_global_id(0)] += 1; })";

/// Two queues: the second adds 1 to the result that the first has doubled. Then the result is read.
void record(RecordingBuilder& r, const std::vector<int>& seen) {
  const auto a = r.queue(), b = r.queue(), event = r.newHandle();
  const auto buffer = r.bufferWith<int>({1, 2, 3});
  const auto program = r.program(kEngineSource);
  const auto first = r.kernel(program, "twice"), second = r.kernel(program, "plus");
  r.argument(first, 0, buffer);
  r.argument(second, 0, buffer);
  r.launch(a, first, 3, {}, event);
  r.launch(b, second, 3, {event});
  r.read(b, buffer, seen);
  (void)r.reader();  // finishes the file
}

std::vector<TraceEvent> events() {
  std::vector<TraceEvent> out;
  for (int i = 0; i < 4; ++i) {
    TraceEvent launch(EventType::KernelLaunch, 1'000 + 100 * static_cast<Timestamp>(i));
    launch.duration = 50;
    launch.name = "gemm";
    launch.correlation_id = static_cast<uint64_t>(i) + 1;
    launch.stream_id = static_cast<uint32_t>(i % 2);
    TraceEvent kernel = launch;
    kernel.type = EventType::KernelComplete;
    kernel.timestamp = 2'000 + 500 * static_cast<Timestamp>(i / 2);
    kernel.duration = 400;
    out.push_back(launch);
    out.push_back(kernel);
  }
  return out;
}

TEST(ReplayEngine, ExecutesARecordingAndComparesWhatItRead) {
  RecordingBuilder r;
  record(r, {3, 5, 7});
  ReplayEngine engine;
  ASSERT_TRUE(engine.loadTrace(r.path()));
  EXPECT_TRUE(engine.hasRecording());
  EXPECT_EQ(engine.operations().size(), 3u);
  if (!test::kRunsDrivers) GTEST_SKIP() << "no driver is run with sanitizers";
  for (const auto policy : {SchedulingPolicy::OriginalTiming, SchedulingPolicy::RoundRobin,
                            SchedulingPolicy::Priority}) {
    const ReplayResult result = engine.replay({.scheduling = policy});
    if (result.simulated) GTEST_SKIP() << result.summary();
    EXPECT_TRUE(result.success) << result.summary();
    EXPECT_TRUE(result.deterministic) << result.summary();
    EXPECT_EQ(result.read_backs, 1u);
    EXPECT_EQ(result.operations_simulated, 0u);
    EXPECT_EQ(result.operations_skipped, 0u);
    EXPECT_GE(result.operations_executed, 3u);
    EXPECT_EQ(result.operations_total, result.operations_executed);
    EXPECT_GT(result.replay_duration, 0u);
    EXPECT_TRUE(engine.getChecker().validateOrder());
    EXPECT_THAT(result.summary(), HasSubstr("executed on"));
  }
}

TEST(ReplayEngine, WhatComesAfterAWaitOfTheHostDependsOnWhatItWaitedFor) {
  RecordingBuilder r;
  const auto queue = r.queue();
  const auto buffer = r.bufferWith<int>({1, 2, 3});
  const auto kernel = r.kernel(r.program(kEngineSource), "twice");
  r.argument(kernel, 0, buffer);
  for (const auto& seen : {std::vector<int>{2, 4, 6}, {4, 8, 12}, {8, 16, 24}}) {
    r.launch(queue, kernel, 3);
    r.read(queue, buffer, seen);
  }
  (void)r.reader();  // finishes the file
  ReplayEngine engine;
  ASSERT_TRUE(engine.loadTrace(r.path()));
  ASSERT_EQ(engine.operations().size(), 6u);
  std::vector<uint64_t> before;
  for (const StreamOperation& op : engine.operations()) {
    EXPECT_THAT(op.depends_on, testing::IsSubsetOf(before)) << op.operation_id;
    if (!before.empty()) {
      EXPECT_THAT(op.depends_on, Contains(before.back()));
    }
    before.push_back(op.operation_id);
  }
  if (!test::kRunsDrivers) GTEST_SKIP() << "no driver is run with sanitizers";
  const ReplayResult result = engine.replay();
  if (result.simulated) GTEST_SKIP() << result.summary();
  EXPECT_TRUE(result.success && result.deterministic) << result.summary();
  EXPECT_EQ(result.dependency_violations, 0u);
}

TEST(ReplayEngine, WhatIsReadOtherwiseIsNoSuccess) {
  if (!test::kRunsDrivers) GTEST_SKIP() << "no driver is run with sanitizers";
  RecordingBuilder r;
  record(r, {3, 5, 8});
  ReplayEngine engine;
  ASSERT_TRUE(engine.loadTrace(r.path()));
  const ReplayResult result = engine.replay();
  if (result.simulated) GTEST_SKIP() << result.summary();
  EXPECT_FALSE(result.success);
  EXPECT_FALSE(result.deterministic);
  EXPECT_EQ(result.read_backs, 1u);
  EXPECT_EQ(result.read_backs_equal, 0u);
  EXPECT_THAT(result.errors, Contains(HasSubstr("1 of 1 read-backs")));
}

TEST(ReplayEngine, ChecksumsNameTheLaunchThatLeftSomethingElse) {
  if (!test::kRunsDrivers) GTEST_SKIP() << "no driver is run with sanitizers";
  RecordingBuilder r;
  const auto q = r.queue();
  const auto buffer = r.bufferWith<int>({1, 2, 3});
  const auto program = r.program(kEngineSource);
  for (const auto& [name, left] :
       {std::pair("twice", std::vector<int>{2, 4, 6}), {"plus", std::vector<int>{9, 9, 9}}}) {
    const auto kernel = r.kernel(program, name);
    r.argument(kernel, 0, buffer);
    const uint64_t launch = r.launch(q, kernel, 3);
    const auto hashes = r.content(left);
    r.add(recording::Snapshot{.memory = buffer, .after = launch + 1, .content = {12, hashes}},
          recording::command_flags::kAddedByAgent);
  }
  (void)r.reader();
  ReplayEngine engine;
  ASSERT_TRUE(engine.loadTrace(r.path()));
  const ReplayResult result = engine.replay({.compute_checksums = true});
  if (result.simulated) GTEST_SKIP() << result.summary();
  EXPECT_EQ(result.launches_hashed, 2u);
  EXPECT_EQ(result.launches_equal, 1u);
  EXPECT_FALSE(result.success);
  EXPECT_FALSE(result.deterministic);
  EXPECT_THAT(result.errors, Contains(HasSubstr("launch 2 (plus)")));
}

TEST(ReplayEngine, APartBringsWhatItNeedsAndSkipsTheRest) {
  if (!test::kRunsDrivers) GTEST_SKIP() << "no driver is run with sanitizers";
  RecordingBuilder r;
  record(r, {3, 5, 7});
  ReplayEngine engine;
  ASSERT_TRUE(engine.loadTrace(r.path()));
  const uint64_t first = engine.operations()[0].operation_id;
  ReplayResult result = engine.replay({.mode = ReplayMode::Partial, .end_operation_id = first});
  if (result.simulated) GTEST_SKIP() << result.summary();
  EXPECT_TRUE(result.success) << result.summary();
  EXPECT_FALSE(result.deterministic);  // nothing was compared
  EXPECT_EQ(result.operations_skipped, 2u);
  result = engine.replay({.mode = ReplayMode::StreamSpecific, .stream_id = 1});
  EXPECT_TRUE(result.deterministic) << result.summary();
  EXPECT_EQ(result.operations_skipped, 0u);  // stream 1 needs stream 0
}

TEST(ReplayEngine, WithoutADeviceItSimulatesAndSaysSo) {
  RecordingBuilder r;
  record(r, {3, 5, 7});
  ReplayEngine engine;
  ASSERT_TRUE(engine.loadTrace(r.path()));
  for (const auto policy : {SchedulingPolicy::OriginalTiming, SchedulingPolicy::RoundRobin,
                            SchedulingPolicy::Priority}) {
    const ReplayResult result =
        engine.replay({.scheduling = policy, .validate_timing = true, .device = "simulated"});
    EXPECT_TRUE(result.success) << result.summary();
    EXPECT_TRUE(result.simulated);
    EXPECT_FALSE(result.deterministic);
    EXPECT_EQ(result.operations_executed, 0u);
    EXPECT_GE(result.operations_simulated, 3u);
    EXPECT_EQ(result.read_backs, 0u);
    EXPECT_EQ(result.device, "");
    EXPECT_THAT(result.warnings, Contains(HasSubstr("no duration is known")));
    EXPECT_THAT(result.summary(), HasSubstr("simulated: nothing was executed or compared"));
    EXPECT_TRUE(engine.getChecker().validateDependencies());
  }
}

TEST(ReplayEngine, ADeviceThatIsAskedForAndNotThereIsAnError) {
  RecordingBuilder r;
  record(r, {3, 5, 7});
  ReplayEngine engine;
  ASSERT_TRUE(engine.loadTrace(r.path()));
  if (!test::kRunsDrivers) GTEST_SKIP() << "no driver is run with sanitizers";
  const ReplayResult result = engine.replay({.device = "no such device"});
  EXPECT_FALSE(result.success);
  EXPECT_FALSE(result.simulated);
  EXPECT_EQ(result.operations_executed + result.operations_simulated, 0u);
  EXPECT_THAT(result.errors, testing::SizeIs(1));
}

TEST(ReplayEngine, ADryRunOrdersAndChecksAndDoesNothing) {
  RecordingBuilder r;
  record(r, {3, 5, 7});
  ReplayEngine engine;
  ASSERT_TRUE(engine.loadTrace(r.path()));
  const ReplayResult result =
      engine.replay({.mode = ReplayMode::DryRun, .scheduling = SchedulingPolicy::RoundRobin});
  EXPECT_TRUE(result.success) << result.summary();
  EXPECT_FALSE(result.deterministic);
  EXPECT_FALSE(result.simulated);
  EXPECT_EQ(result.operations_skipped, 3u);
  EXPECT_EQ(result.operations_total, 3u);
  EXPECT_TRUE(engine.getChecker().validateOrder());
  EXPECT_THAT(result.summary(), HasSubstr("nothing was executed"));
}

TEST(ReplayEngine, EventsAreSimulated) {
  ReplayEngine engine;
  ASSERT_TRUE(engine.loadEvents(events()));
  EXPECT_FALSE(engine.hasRecording());
  for (const auto policy : {SchedulingPolicy::OriginalTiming, SchedulingPolicy::RoundRobin,
                            SchedulingPolicy::Priority}) {
    const ReplayResult result = engine.replay({.scheduling = policy, .validate_timing = true});
    EXPECT_TRUE(result.success) << result.summary();
    EXPECT_TRUE(result.simulated);
    EXPECT_FALSE(result.deterministic);
    EXPECT_EQ(result.operations_simulated, 4u);
    EXPECT_EQ(result.operations_total, 4u);
    EXPECT_EQ(result.order_violations + result.dependency_violations + result.timing_violations,
              0u);
    EXPECT_GE(result.replay_duration, 800u);  // two kernels of 400 ns in a stream
    EXPECT_EQ(engine.getChecker().validateOrder(), true);
  }
  const ReplayResult fast = engine.replay({.scheduling = SchedulingPolicy::Priority});
  EXPECT_EQ(fast.replay_duration, 800u);
  EXPECT_EQ(fast.original_duration, 900u);
}

TEST(ReplayEngine, APartOfEventsIsWhatWasChosen) {
  ReplayEngine engine;
  ASSERT_TRUE(engine.loadEvents(events()));
  ReplayResult result = engine.replay({.mode = ReplayMode::StreamSpecific, .stream_id = 1});
  EXPECT_TRUE(result.success) << result.summary();
  EXPECT_EQ(result.operations_simulated, 2u);
  EXPECT_EQ(result.operations_skipped, 2u);
  EXPECT_EQ(result.replay_duration, 800u);
  result = engine.replay({.mode = ReplayMode::Partial, .end_time = 100});
  EXPECT_EQ(result.operations_simulated, 2u) << result.summary();
  EXPECT_EQ(result.replay_duration, 400u);
}

TEST(ReplayEngine, TracesOfOursAndOfOthersAreLoaded) {
  test::TempFolder folder;
  SBTWriter writer(folder.path("x.sbt"));
  ASSERT_TRUE(writer.writeEvents(events()) && writer.finalize());
  ReplayEngine engine;
  ASSERT_TRUE(engine.loadTrace(folder.path("x.sbt")));
  EXPECT_EQ(engine.replay().operations_simulated, 4u);
  std::ofstream(folder.path("x.json"))
      << R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1,
             "dur": 2, "args": {"device": 0, "stream": 7, "correlation": 1}}]})";
  ASSERT_TRUE(engine.loadTrace(folder.path("x.json")));
  const ReplayResult result = engine.replay();
  EXPECT_TRUE(result.simulated);
  EXPECT_EQ(result.operations_simulated, 1u);
  EXPECT_FALSE(engine.replay({.device = "pthread"}).success);  // there is nothing to execute
}

TEST(ReplayEngine, WhenNothingCanBeDoneThatIsAnError) {
  ReplayEngine engine;
  ReplayResult result = engine.replay();
  EXPECT_FALSE(result.success);
  EXPECT_FALSE(result.deterministic);
  EXPECT_THAT(result.errors, Contains(HasSubstr("nothing is loaded")));
  EXPECT_FALSE(engine.loadTrace("/no/such/file.sbt"));
  EXPECT_FALSE(engine.replay().success);
  EXPECT_FALSE(engine.loadEvents({}));
  EXPECT_FALSE(engine.loadEvents({TraceEvent(EventType::Marker, 5)}));
  EXPECT_FALSE(engine.replay().success);
  test::TempFolder folder;
  std::ofstream(folder.path("text.sbr")) << "not a recording";
  EXPECT_FALSE(engine.loadTrace(folder.path("text.sbr")));
  ASSERT_TRUE(engine.loadEvents(events()));
  // A failed load removes what was loaded before.
  EXPECT_FALSE(engine.loadTrace(folder.path("text.sbr")));
  EXPECT_THAT(engine.operations(), IsEmpty());
}

TEST(ReplayEngine, ConfigurationsThatMakeNoSenseAreErrors) {
  ReplayEngine engine;
  ASSERT_TRUE(engine.loadEvents(events()));
  const ReplayConfig bad[] = {
      {.mode = ReplayMode::Partial},
      {.mode = ReplayMode::StreamSpecific},
      {.mode = ReplayMode::StreamSpecific, .stream_id = 99},
      {.mode = ReplayMode::Partial, .start_operation_id = 1'000},
      {.mode = ReplayMode::Partial, .start_time = 10, .end_time = 5},
      {.time_scale = -1},
      {.time_scale = NAN},
  };
  for (const ReplayConfig& config : bad) {
    const ReplayResult result = engine.replay(config);
    EXPECT_FALSE(result.success);
    EXPECT_THAT(result.errors, testing::SizeIs(1));
    EXPECT_EQ(result.operations_simulated, 0u);
  }
}

/// For real traces, every policy finds a legal order, and the emulator respects dependencies.
TEST(ReplayEngine, RealTracesOfGpusAreTimedInLegalOrders) {
  const char* data = std::getenv("TRACESMITH_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "TRACESMITH_TEST_DATA is not set";
  const std::string traces = std::string(data) + "/traces/";
  for (const char* name :
       {"tracelens/tests/traces/h100/gaunernst_bert-small-uncased__1016001.json.gz",
        "tracelens/tests/traces/inference/vllm_prefilldecode_piecewise/graph_execution.json.gz",
        "nsys_ai/tests/fixtures/mfu_2gpu_before.sqlite.gz"}) {
    ReplayEngine engine;
    const Status loaded = engine.loadTrace(traces + name);
    if (!loaded) GTEST_SKIP() << loaded.error().toString();
    for (const auto policy : {SchedulingPolicy::OriginalTiming, SchedulingPolicy::RoundRobin,
                              SchedulingPolicy::Priority}) {
      const ReplayResult result = engine.replay({.scheduling = policy, .validate_timing = true});
      EXPECT_TRUE(result.success) << name << '\n' << result.summary();
      EXPECT_TRUE(result.simulated);
      EXPECT_GT(result.operations_simulated, 50u);
      EXPECT_GT(result.replay_duration, 0u);
    }
  }
}

}  // namespace
}  // namespace tracesmith
