// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/simulate/simulated_trace.hpp"

#include <gmock/gmock.h>

#include <numeric>

#include "tracesmith/emulate/emulator.hpp"
#include "tracesmith/replay/simulate/simulation_report.hpp"
#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

using testing::HasSubstr;

TEST(SimulatedTrace, TakesAsLongAsTheEmulatorSays) {
  const auto sample = test::sampleProgram();
  const auto simulation = simulateTrace(sample.trace, ReplayOrder::kRecorded);
  ASSERT_TRUE(simulation) << simulation.error().toString();
  const auto graph = emulatorGraph(sample.trace);
  ASSERT_TRUE(graph);
  EXPECT_EQ(simulation->virtual_ns, emulate(*graph)->makespan());
  EXPECT_EQ(simulation->graph.ops.size(), 5u);
  EXPECT_EQ(simulation->unmatched(), 0u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_LE(simulation->begin_ns[i], simulation->end_ns[i]);
    EXPECT_LE(simulation->end_ns[i], simulation->virtual_ns);
  }
}

TEST(SimulatedTrace, SerialIsTheSumOfWhatTheDeviceDid) {
  const auto sample = test::sampleProgram();
  const auto simulation = simulateTrace(sample.trace, ReplayOrder::kSerial);
  ASSERT_TRUE(simulation);
  EXPECT_EQ(simulation->virtual_ns, 200'000 + 500'000 + 200'000 + 100'000 + 400'000);
  const auto report = simulationReport(*simulation);
  EXPECT_EQ(report[0].title, "Simulated: nothing was executed or compared");
  EXPECT_EQ(report[0].rows[0][0], ReportValue(int64_t{0}));  // executed
  EXPECT_EQ(report[0].rows[0][1], ReportValue(int64_t{5}));  // simulated
  EXPECT_EQ(report[0].rows[0][2], ReportValue(int64_t{3}));  // launches
}

TEST(SimulatedTrace, DeviceWorkAloneIsTimedAndTheMissingLaunchesAreSaid) {
  test::SampleTrace s;
  const ProcessId process = s.process(1, "x");
  const StreamId stream = s.stream(s.device("d"), process);
  // Idle in between: the dependencies are unknown.
  for (int i = 0; i < 10; ++i) s.kernel("k", stream, 1'000'000 * (i + 1), 1'000);
  const auto simulation = simulateTrace(s.trace, ReplayOrder::kRecorded);
  ASSERT_TRUE(simulation) << simulation.error().toString();
  EXPECT_GT(simulation->unmatched(), 0u);
  const auto report = simulationReport(*simulation);
  ASSERT_EQ(report.back().key, "remarks");
  EXPECT_THAT(std::get<std::string>(report.back().rows[0][1]), HasSubstr("no launch in the trace"));
}

TEST(SimulatedTrace, OtherOrdersAndEmptyTracesAreRefused) {
  const auto sample = test::sampleProgram();
  EXPECT_EQ(simulateTrace(sample.trace, ReplayOrder::kTiming).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(simulateTrace(sample.trace, ReplayOrder::kRandom).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(simulateTrace({}, ReplayOrder::kRecorded).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace tracesmith
