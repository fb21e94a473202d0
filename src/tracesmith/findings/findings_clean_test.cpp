// SPDX-License-Identifier: Apache-2.0
// No rule has a finding in a trace that has the data of all rules and none of their problems; and a
// rule whose data a trace lacks says so.
#include <gmock/gmock.h>

#include <set>
#include <string>

#include "tracesmith/emulate/emulator_check.hpp"
#include "tracesmith/findings/facts.hpp"
#include "tracesmith/findings/findings.hpp"
#include "tracesmith/findings/findings_test_util.hpp"
#include "tracesmith/replay/plan/recording_test_util.hpp"

namespace tracesmith {
namespace {

using findings::test::Program;
using test::RecordingBuilder;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
namespace rec = recording;

constexpr int64_t kKernelNs = 100'000;

/// Six steps on two devices that never wait for the host: full grids, communication and copies
/// from pinned memory beside kernels, and steady memory.
Program completeAndClean() {
  Program program;
  program.addDevice();
  program.lose(5'000, 0);
  program.call("cudaMalloc", CallKind::kMemory, 5'000);
  program.call("cuModuleLoadData", CallKind::kBuild, 5'000);
  const ShapeId full = program.shape(6 * 4 * 1024, 256, 0);  // six full waves
  for (int step = 0; step < 6; ++step) {
    const int64_t from = program.now();
    program.allocate(1, 1 << 20, from);
    for (int i = 0; i < 20; ++i) {
      const std::string name = "kernel " + std::to_string(i % 10);
      program.launchIn(0, name, kKernelNs, full);
      program.launchIn(2, name, kKernelNs, full);
      if (i % 5 == 2) program.launchIn(1, "ncclDevKernel_AllReduce", kKernelNs / 2);
      if (i % 5 == 4) {
        program.copyIn(1, CopyKind::kHostToDevice, 1 << 20, kKernelNs / 2,
                       "Memcpy HtoD (Pinned -> Device)");
      }
    }
    program.release(1, program.now() - 1);
    program.range("ProfilerStep#" + std::to_string(step), from, program.now());
  }
  return program;
}

const std::string kFill = "kernel void fill(global int* a) { a[get_global_id(0)] = 1; }";

/// Two launches that write the same buffer, in two queues or in one.
RecordingReader twoLaunches(RecordingBuilder& recording, bool same_queue) {
  const rec::Handle first = recording.queue();
  const rec::Handle second = same_queue ? first : recording.queue();
  const rec::Handle shared = recording.bufferWith(std::vector<int>(1024));
  const rec::Handle fill = recording.kernel(recording.program(kFill), "fill");
  recording.argument(fill, 0, shared);
  recording.launch(first, fill, 1024);
  recording.launch(second, fill, 1024);
  recording.read(second, shared, std::vector<int>(1024, 1));
  return recording.reader();
}

TEST(CleanFindings, NoRuleHasAFindingWhereAllAreChecked) {
  RecordingBuilder recording;
  RecordingReader reader = twoLaunches(recording, true);
  const Findings found = findingsOf(completeAndClean().trace(), {.recording = &reader});
  for (const Finding& finding : found.list) ADD_FAILURE() << finding.rule << ": " << finding.title;
  EXPECT_THAT(found.not_checked, IsEmpty());
}

TEST(RaceFinding, TwoQueuesThatWriteTheSameBytesComeFirst) {
  RecordingBuilder recording;
  RecordingReader reader = twoLaunches(recording, false);
  const Findings found = findingsOf(completeAndClean().trace(), {.recording = &reader});
  ASSERT_EQ(found.list.size(), 1U);
  const Finding& race = found.list.front();
  EXPECT_EQ(race.rule, "race");
  EXPECT_EQ(race.severity, Severity::kWrong);
  EXPECT_THAT(race.title, HasSubstr("launch 1 of fill and launch 2 of fill"));
  EXPECT_THAT(race.advice, HasSubstr("wait for launch 1 of fill"));
  EXPECT_FALSE(race.share);
  EXPECT_GT(race.evidence.end_ns, race.evidence.begin_ns);
  EXPECT_THAT(found.verdict, StartsWith(race.title));
}

TEST(RaceFinding, WithoutARecordingSaysSo) {
  EXPECT_THAT(findingsOf(completeAndClean().trace()).not_checked,
              ElementsAre("race: no recording of the commands (profile --record)"));
  const Findings found =
      findingsOf(completeAndClean().trace(), {.why_no_recording = "run.sbr: damaged"});
  EXPECT_THAT(found.not_checked, ElementsAre("race: run.sbr: damaged"));
}

TEST(CleanFindings, RulesWithoutDataAreNamedWithTheReason) {
  const auto of = [](const Program& program) { return findingsOf(program.trace()).not_checked; };
  Program device_only;
  for (int i = 0; i < 20; ++i) device_only.deviceOnly("k", i * 1'000, 500);
  EXPECT_THAT(of(device_only),
              Contains("host-late, synchronization, launch-bound, slow-launch, allocation, build, "
                       "start-and-end: the trace has no API calls"));
  EXPECT_THAT(of(device_only), Contains(StartsWith("events-lost: the trace does not say")));
  EXPECT_THAT(of(device_only), Contains("step-variance: the trace marks no steps"));
  EXPECT_THAT(of(device_only),
              Contains("low-occupancy, tail, streams-unused: launch shapes or the device's limits "
                       "are not in the trace"));
  EXPECT_THAT(of(device_only),
              Contains("memory-growth, memory-peak: the trace has no allocations"));
  Program copies;
  copies.launch("k", 1'000);
  copies.copy(CopyKind::kHostToDevice, 0, 1'000, "");
  EXPECT_THAT(of(copies), Contains("small-copies: the sizes of copies are not in the trace"));
  EXPECT_THAT(of(copies), Contains("pageable-copies: copies do not name the kind of host memory"));
  EXPECT_THAT(findingsOf(Trace{}).not_checked, Contains(HasSubstr("the trace has no device work")));
}

TEST(Findings, SharesAreOfTheTimeThatTheEmulatorPredicts) {
  for (const int64_t lead_ns : {0, 30'000'000}) {
    Program program;
    program.call("prepare", CallKind::kOther, 1'000);
    program.sleep(lead_ns);
    for (int i = 0; i < 40; ++i) {
      program.launch("kernel " + std::to_string(i % 10), 500'000);
      program.sleep(1'000'000);
    }
    program.wait("cudaDeviceSynchronize");
    const auto graph = emulatorGraph(program.trace());
    ASSERT_TRUE(graph);
    const auto unchanged = emulate(*graph);
    ASSERT_TRUE(unchanged);
    const findings::Facts facts(program.trace());
    EXPECT_EQ(facts.runNs(), errorsOf(*graph, *unchanged).recorded_ns);
  }
}

TEST(Findings, PartsFollowTheirWholeAndDecideWhatToDo) {
  Program program;
  for (int i = 0; i < 40; ++i) {
    program.sleep(400'000);
    program.launch("kernel " + std::to_string(i % 10), 500'000);
    program.wait("cudaStreamSynchronize");
  }
  const Findings found = findingsOf(program.trace());
  ASSERT_GE(found.list.size(), 2U);
  EXPECT_EQ(found.list[0].rule, "host-late");
  EXPECT_EQ(found.list[0].part_of, "");
  EXPECT_EQ(found.list[1].rule, "synchronization");
  EXPECT_EQ(found.list[1].part_of, "host-late");
  EXPECT_EQ(found.list[0].advice, found.list[1].advice);
  EXPECT_THAT(found.list[0].cause, HasSubstr("Explained below: synchronization"));
}

TEST(Findings, OneWaveOrManyWavesHaveNoTail) {
  Program program;
  const ShapeId half = program.shape(2 * 1024, 1024, 0);             // half a wave
  const ShapeId many = program.shape((10 * 4 + 1) * 1024, 1024, 0);  // 10.25 waves
  const ShapeId full = program.shape(8 * 1024, 1024, 0);             // two waves
  for (int i = 0; i < 60; ++i) {
    const ShapeId shape = i % 3 == 0 ? half : i % 3 == 1 ? many : full;
    program.launch("kernel " + std::to_string(i % 30), kKernelNs, 2'000, 0, shape);
  }
  for (const Finding& finding : findingsOf(program.trace()).list) EXPECT_NE(finding.rule, "tail");
}

}  // namespace
}  // namespace tracesmith
