// SPDX-License-Identifier: Apache-2.0
// Virtual times of synthetic recordings, without any device.
#include "tracesmith/replay/simulate/simulated_executor.hpp"

#include <gmock/gmock.h>

#include "tracesmith/replay/plan/recording_test_util.hpp"
#include "tracesmith/replay/simulate/simulation_report.hpp"

namespace tracesmith {
namespace {

using test::RecordingBuilder;
using namespace recording;
using testing::HasSubstr;

/// A recording, with command durations chosen by the tests.
class Simulated : public testing::Test {
 protected:
  Simulated() { kernel_ = r.kernel(r.program("kernel void k() {}"), "k"); }

  uint64_t launch(Handle queue, int64_t ns, std::vector<Handle> waits = {}, Handle event = 0) {
    const uint64_t step = r.launch(queue, kernel_, 1, std::move(waits), event);
    known.emplace_back(step, ns);
    return step;
  }
  uint64_t marker(Handle queue, bool barrier, std::vector<Handle> waits = {}) {
    Marker m{.queue = queue, .is_barrier = barrier ? 1u : 0u};
    m.waits = waits;
    return r.add(m);
  }
  Result<PlanSimulation> run(const RunSettings& settings) {
    if (!plan) {
      reader.emplace(r.reader());
      plan.emplace(*ReplayPlan::make(*reader->commands(1)));
      durations = StepDurations::none(*plan, "");
      for (const auto& [step, ns] : known) durations.ns[step] = ns;
    }
    return simulatePlan(*plan, *reader, durations, settings);
  }
  int64_t virtualNs(ReplayOrder order = ReplayOrder::kRecorded) {
    const auto simulation = run({.order = order});
    EXPECT_TRUE(simulation);
    return simulation->run.duration_ns;
  }

  RecordingBuilder r;
  Handle kernel_ = 0;
  std::vector<std::pair<uint64_t, int64_t>> known;
  std::optional<RecordingReader> reader;
  std::optional<ReplayPlan> plan;
  StepDurations durations;
};

TEST_F(Simulated, QueuesWorkBesideEachOtherAndInOrder) {
  const Handle a = r.queue(), b = r.queue();
  launch(a, 100);
  launch(b, 300);
  launch(a, 150);
  EXPECT_EQ(virtualNs(), 300);
  EXPECT_EQ(virtualNs(ReplayOrder::kSerial), 550);
  EXPECT_EQ(virtualNs(ReplayOrder::kRandom), 550);
}

TEST_F(Simulated, EventsHoldBackWhatWaitsForThem) {
  const Handle a = r.queue(), b = r.queue(), event = r.newHandle();
  launch(a, 100, {}, event);
  launch(b, 300, {event});
  launch(a, 50);
  EXPECT_EQ(virtualNs(), 400);
}

TEST_F(Simulated, OutOfOrderQueuesWaitForBarriersAlone) {
  const Handle q = r.queue(1);
  launch(q, 100);
  launch(q, 300);
  marker(q, true);
  launch(q, 50);
  EXPECT_EQ(virtualNs(), 350);
  EXPECT_EQ(virtualNs(ReplayOrder::kSerial), 450);
}

TEST_F(Simulated, WhatTheHostHadWaitedForComesFirst) {
  const Handle a = r.queue(), b = r.queue();
  launch(a, 100);
  r.add(Finish{.queue = a});
  launch(b, 300);
  EXPECT_EQ(virtualNs(), 400);
}

TEST_F(Simulated, BlockingReadsHoldTheHost) {
  const Handle a = r.queue(), b = r.queue();
  const Handle buffer = r.buffer(8);
  launch(a, 100);
  known.emplace_back(r.read<int>(a, buffer, {1, 2}), 40);
  launch(b, 300);
  EXPECT_EQ(virtualNs(), 440);
}

TEST_F(Simulated, TimingMakesNoCallBeforeItsTime) {
  const Handle q = r.queue();
  const uint64_t step = launch(q, 100);  // called at 1000 ns for each call before it
  EXPECT_EQ(virtualNs(), 100);
  EXPECT_EQ(virtualNs(ReplayOrder::kTiming), static_cast<int64_t>(step) * 1000 + 100);
  const auto faster = run({.order = ReplayOrder::kTiming, .speed = 2});
  EXPECT_EQ(faster->run.duration_ns, static_cast<int64_t>(step) * 500 + 100);
  EXPECT_TRUE(run({.order = ReplayOrder::kTiming, .speed = 1e-300}));
}

TEST_F(Simulated, NothingIsExecutedComparedOrCountedTwice) {
  const Handle q = r.queue();
  const Handle buffer = r.buffer(8);
  launch(q, 100);
  r.read<int>(q, buffer, {1, 2});
  const auto simulation = run({});
  ASSERT_TRUE(simulation);
  const RunResult& result = simulation->run;
  EXPECT_EQ(result.executed, 0u);
  EXPECT_EQ(result.launches, 1u);
  EXPECT_EQ(result.shown, 0u);
  EXPECT_EQ(result.shown_equal, 0u);
  EXPECT_EQ(result.not_comparable, 0u);
  EXPECT_EQ(result.skipped, 0u);
  EXPECT_EQ(result.problem_count, 0u);
  // All but the device (added by the agent) and the Done of the read.
  EXPECT_EQ(result.simulated, plan->steps().size() - 2);
}

TEST_F(Simulated, WhatHasNoKnownDurationIsCountedAndSaid) {
  const Handle q = r.queue();
  launch(q, 100);
  r.launch(q, kernel_, 1);
  const auto simulation = run({});
  EXPECT_EQ(simulation->run.duration_ns, 100);
  EXPECT_EQ(simulation->work.at(CommandKind::kLaunch).count, 2u);
  EXPECT_EQ(simulation->work.at(CommandKind::kLaunch).unknown, 1u);
  const auto report = simulationReport(*plan, *simulation, durations);
  EXPECT_EQ(report[0].title, "Simulated: nothing was executed or compared");
  EXPECT_EQ(report[0].rows[0][0], ReportValue(int64_t{0}));
  EXPECT_EQ(report[1].rows[0][0], ReportValue(int64_t{0}));
  ASSERT_EQ(report.back().key, "remarks");
  EXPECT_THAT(std::get<std::string>(report.back().rows[0][1]),
              HasSubstr("1 commands took no time"));
}

TEST_F(Simulated, WhatIsLeftOutTakesNoTimeAndHandsOnWhatItWaitedFor) {
  const Handle a = r.queue(), b = r.queue(), c = r.queue(), event = r.newHandle();
  const uint8_t pattern[] = {1};
  Fill fill{.queue = b, .memory = r.buffer(8), .pattern = pattern};
  const Handle waits[] = {event};
  fill.waits = waits;
  launch(a, 100, {}, event);
  known.emplace_back(r.add(fill), 5'000);
  r.add(Finish{.queue = b});
  launch(c, 10);
  const auto simulation = run({.queue = 2});
  EXPECT_EQ(simulation->run.launches, 2u);
  EXPECT_EQ(simulation->run.skipped, 1u);
  EXPECT_EQ(simulation->run.duration_ns, 110);
  const auto until = run({.until_launch = 1});
  EXPECT_EQ(until->run.duration_ns, 5'100);  // everything before the next launch
}

TEST_F(Simulated, CallsThatFailedLeaveNothingToDo) {
  const Handle q = r.queue();
  const uint64_t globals[] = {1};
  const uint64_t step = r.add(Launch{.queue = q, .kernel = kernel_, .global = globals}, 0, -54);
  known.emplace_back(step, 1'000);
  EXPECT_EQ(virtualNs(), 0);
}

TEST_F(Simulated, LengthsThatNoClockGivesDoNotOverflow) {
  const Handle q = r.queue();
  launch(q, INT64_MAX - 5);
  launch(q, INT64_MAX - 5);
  EXPECT_EQ(virtualNs(), INT64_MAX);
}

TEST_F(Simulated, WhatNeedsExecutionIsRefused) {
  launch(r.queue(), 1);
  EXPECT_EQ(run({.dumps = {{1, 1}}}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(run({.hash_launches = true}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(run({.order = ReplayOrder::kConcurrent}).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(Simulated, AnEmptyRecordingTakesNoTime) {
  const auto empty = ReplayPlan::make({});
  RecordingReader none = r.reader();
  const StepDurations nothing = StepDurations::none(*empty, "");
  const auto simulation = simulatePlan(*empty, none, nothing, {});
  EXPECT_EQ(simulation->run.simulated, 0u);
  EXPECT_EQ(simulation->run.duration_ns, 0);
}

}  // namespace
}  // namespace tracesmith
