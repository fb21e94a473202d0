// SPDX-License-Identifier: Apache-2.0
// Programs that fork, exec, unload, end their threads early or run code when all seems over: each
// launch is in the trace once, and the program ends as it does alone.
#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "recording_test_util.hpp"
#include "tracesmith/base/clock.hpp"

namespace tracesmith {
namespace {

using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::Pair;

/// Numbers of all lines "launches N", in order.
std::vector<uint64_t> said(const std::string& file) {
  std::vector<uint64_t> numbers;
  std::istringstream in(readFile(file));
  std::string word;
  for (uint64_t n = 0; in >> word >> n;) numbers.push_back(n);
  return numbers;
}
uint64_t sum(const std::vector<uint64_t>& numbers) {
  uint64_t n = 0;
  for (uint64_t each : numbers) n += each;
  return n;
}

class ProcessShapeTest : public RecordingTest, public ::testing::WithParamInterface<const char*> {
 protected:
  /// Runs it under the agent; each launch that it says it made must be there.
  Recording launchesOf(const std::vector<std::string>& command, int exit_code = 0) {
    SpawnOptions o;
    o.output = path("said");
    const int64_t begin = monotonicNs();
    const Ended ended = run(driver({GetParam()}, command), o, 60);
    EXPECT_FALSE(ended.timed_out) << "it hangs";
    EXPECT_EQ(ended.exit_code, exit_code);
    EXPECT_LT(monotonicNs() - begin, 20'000'000'000);
    Recording r = load(path("out.sbt"));
    EXPECT_TRUE(r.complete);
    EXPECT_EQ(r.trace.kernel.size(), sum(said(path("said"))));
    EXPECT_EQ(number(readReport(path("report")), "dropped"), 0u);
    EXPECT_EQ(number(readReport(path("report")), "unresolved"), 0u);
    expectNoDuplicates(r.trace);
    expectLossesAddUp(r.trace);
    EXPECT_THAT(filesLeft(), ElementsAre("out.sbt", "report", "said"));
    return r;
  }
  /// Kernels per process row.
  static std::map<uint32_t, uint64_t> perPid(const Trace& trace) {
    const std::map<ProcessId, uint32_t> pids = pidsOf(trace);
    std::map<uint32_t, uint64_t> kernels;
    for (ProcessId id : trace.kernel.process_id) ++kernels[pids.at(id)];
    return kernels;
  }
  static std::map<ProcessId, uint32_t> pidsOf(const Trace& trace) {
    std::map<ProcessId, uint32_t> pids;
    for (size_t i = 0; i < trace.process.size(); ++i) {
      pids[trace.process.row(i).id] = trace.process.row(i).pid;
    }
    return pids;
  }
};

TEST_P(ProcessShapeTest, AForkedChildThatDoesNotExecHasItsOwnRowAndLaunches) {
  const Recording r = launchesOf({helper("cl_shapes"), "forks", "10"});
  EXPECT_THAT(said(path("said")), ElementsAre(10, 20));
  std::set<uint64_t> counts;
  for (const auto& [pid, kernels] : perPid(r.trace)) counts.insert(kernels);
  EXPECT_EQ(counts, (std::set<uint64_t>{10, 20}));
  ASSERT_EQ(r.trace.process.size(), 2u);
  EXPECT_EQ(r.trace.process.row(1).parent_pid, r.trace.process.row(0).pid);
}

TEST_P(ProcessShapeTest, AProgramThatExecsAnotherStaysOneProcessWithoutADoubleCorrelationId) {
  const Recording r = launchesOf({helper("cl_shapes"), "execs", "10"});
  EXPECT_THAT(said(path("said")), ElementsAre(10, 20));
  EXPECT_EQ(perPid(r.trace).size(), 1u);
  ASSERT_EQ(r.trace.process.size(), 1u);
  EXPECT_THAT(std::string(r.trace.text(r.trace.process.row(0).command_line)),
              ::testing::HasSubstr("launches 20"));
}

TEST_P(ProcessShapeTest, ThreadsThatComeAndGoShareAFewRings) {
  const Recording r = launchesOf({helper("cl_shapes"), "short_threads", "500"});
  EXPECT_EQ(r.trace.kernel.size(), 1000u);
  std::set<ThreadId> threads(r.trace.kernel.thread_id.begin(), r.trace.kernel.thread_id.end());
  EXPECT_EQ(threads.size(), 500u);
}

TEST_P(ProcessShapeTest, ManyThreadsAtOnceEachHaveTheirLaunches) {
  const Recording r = launchesOf({helper("cl_shapes"), "many_threads", "64"});
  std::map<ThreadId, uint64_t> kernels;
  for (ThreadId id : r.trace.kernel.thread_id) ++kernels[id];
  EXPECT_EQ(kernels.size(), 64u);
  for (const auto& [thread, n] : kernels) EXPECT_EQ(n, 20u);
}

TEST_P(ProcessShapeTest, ThreadsMayEndBeforeWhatTheyLaunched) {
  launchesOf({helper("cl_shapes"), "threads_at_exit", "10"});
}

TEST_P(ProcessShapeTest, LaunchesOfExitHandlersAndStaticDestructorsAreRecorded) {
  launchesOf({helper("cl_shapes"), "destructors", "10"});
  EXPECT_THAT(said(path("said")), ElementsAre(10, 4, 3));
}

/// Some sandboxes refuse MADV_WIPEONFORK.
bool canRefuseWipe() { return run({helper("sandboxed"), "/bin/true"}).exit_code == 0; }

TEST_P(ProcessShapeTest, WithoutTheKernelsHelpAForkedChildHasItsOwnRowAndLaunches) {
  if (!canRefuseWipe()) GTEST_SKIP() << "no system call filter can be set here";
  const Recording r = launchesOf({helper("sandboxed"), helper("cl_shapes"), "forks", "10"});
  std::vector<uint64_t> kernels;
  for (const auto& [pid, count] : perPid(r.trace)) kernels.push_back(count);
  EXPECT_THAT(kernels, ::testing::UnorderedElementsAre(10, 20));
}

TEST_P(ProcessShapeTest, AChildOfTheBareSystemCallDoesNotWriteIntoItsParentsRing) {
  std::vector<std::string> command = {helper("cl_shapes"), "bare_clone", "1000"};
  for (const bool sandboxed : {false, true}) {
    if (sandboxed && !canRefuseWipe()) continue;
    if (sandboxed) command.insert(command.begin(), helper("sandboxed"));
    std::filesystem::remove(path("out.sbt"));  // a trace of nothing would not replace it
    SpawnOptions o;
    o.output = path("said");
    EXPECT_EQ(run(driver({GetParam()}, command), o, 60).exit_code, 0);
    const Recording r = load(path("out.sbt"));
    EXPECT_THAT(said(path("said")), ElementsAre(3000, 3000));
    std::map<ProcessId, uint64_t> calls;
    for (size_t i = 0; i < r.trace.host_call.size(); ++i) {
      calls[r.trace.host_call.process_id[i]] += r.trace.host_call.result[i] != 0;
    }
    std::vector<uint64_t> of_each;
    for (const auto& [process, count] : calls) of_each.push_back(count);
    EXPECT_THAT(of_each, ::testing::UnorderedElementsAre(3000, 2000)) << sandboxed;
    EXPECT_EQ(number(readReport(path("report")), "dropped"), 0u);
    expectLossesAddUp(r.trace);
  }
}

TEST_P(ProcessShapeTest, AHandlerThatJumpsOutOfARecordCostsThatRecordAlone) {
  SpawnOptions o;
  o.output = path("said");
  EXPECT_EQ(run(driver({GetParam()}, {helper("cl_shapes"), "jumps", "100000"}), o, 60).exit_code,
            0);
  const Recording r = load(path("out.sbt"));
  const std::vector<uint64_t> calls = said(path("said"));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_GT(calls[0], 100'000u);
  // A jump may come before the program has counted its call, or before ours is written.
  EXPECT_GE(r.trace.host_call.size() + 300, calls[0]);
  EXPECT_LE(number(readReport(path("report")), "dropped"), 300u);
  expectLossesAddUp(r.trace);
}

// The handler's call comes from above the record that it interrupts, which is not over for all
// that.
TEST_P(ProcessShapeTest, ARecordThatAHandlerInterruptsOnAStackOfItsOwnStaysWhole) {
  for (const char* const shape : {"disarmed", "within"}) {
    SCOPED_TRACE(shape);
    std::filesystem::remove(path("out.sbt"));
    SpawnOptions o;
    o.output = path("said");
    EXPECT_EQ(run(driver({GetParam()}, {helper("cl_handlers"), shape, "300"}), o, 60).exit_code, 0);
    const Recording r = load(path("out.sbt"));
    ASSERT_EQ(said(path("said")).size(), 1u);
    const uint64_t made = said(path("said"))[0];
    EXPECT_GT(made, 10'000u);
    const uint64_t seen = r.trace.host_call.size() + number(readReport(path("report")), "dropped");
    EXPECT_GE(seen + 5, made);
    EXPECT_LE(seen, made + 5);
    EXPECT_GT(r.trace.host_call.size(), made / 3);
    expectLossesAddUp(r.trace);
  }
}

TEST_P(ProcessShapeTest, AHandlerThatJumpsOutOfAWaitLeavesTheThreadAsItWas) {
  SpawnOptions o;
  o.output = path("said");
  EXPECT_EQ(run(driver({GetParam(), "ring=65536"}, {helper("cl_handlers"), "waits", "200"}), o, 60)
                .exit_code,
            0);
  const std::vector<uint64_t> numbers = said(path("said"));
  ASSERT_EQ(numbers.size(), 2u);
  EXPECT_EQ(numbers[1], 0u) << "times that it could not be cancelled";
}

// Its process is a zombie from then on, but one with threads.
TEST_P(ProcessShapeTest, LaunchesAfterTheMainThreadHasLeftAreRecorded) {
  launchesOf({helper("cl_shapes"), "leader_leaves", "300"});
  EXPECT_THAT(said(path("said")), ElementsAre(1, 300));
}

TEST_P(ProcessShapeTest, AProcessWhoseMainThreadLeftBeforeItUsedTheGpuIsNamed) {
  const Recording r = launchesOf({helper("cl_shapes"), "leader_leaves_first", "100"});
  std::string command_line;
  for (size_t i = 0; i < r.trace.process.size(); ++i) {
    const ProcessRow row = r.trace.process.row(i);
    if ((row.flags & process_flags::kAgent) == 0) continue;
    command_line = r.trace.text(row.command_line);
    EXPECT_NE(r.trace.text(row.executable), "");
  }
  EXPECT_THAT(command_line, ::testing::HasSubstr("leader_leaves_first 100"));
}

TEST_P(ProcessShapeTest, CallsOutOfASignalHandlerNeverHangAndAreRecordedOrCounted) {
  SpawnOptions o;
  o.output = path("said");
  const Ended ended = run(driver({GetParam()}, {helper("cl_shapes"), "signals", "300000"}), o, 30);
  ASSERT_FALSE(ended.timed_out) << "it hangs";
  EXPECT_EQ(ended.exit_code, 0);
  const Recording r = load(path("out.sbt"));
  const std::vector<uint64_t> calls = said(path("said"));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_GT(calls[0], 300'000u) << "no signal came";
  uint64_t emitted = 0, dropped = 0;
  for (size_t i = 0; i < r.trace.loss.size(); ++i) {
    const LossRow row = r.trace.loss.row(i);
    if (r.trace.text(row.source) != "OpenCL records") continue;
    emitted += row.emitted;
    dropped += row.dropped;
    if (row.dropped > 0) {
      EXPECT_THAT(std::string(r.trace.text(row.reason)), ::testing::HasSubstr("signal handler"));
    }
  }
  EXPECT_EQ(emitted, calls[0]);
  EXPECT_EQ(r.trace.host_call.size() + dropped, calls[0]);
  expectNoDuplicates(r.trace);
  expectLossesAddUp(r.trace);
}

TEST_P(ProcessShapeTest, CallsOutOfASignalHandlerDuringTheFirstCallAreRecordedOrCounted) {
  SpawnOptions o;
  o.output = path("said");
  const Ended ended =
      run(driver({GetParam()}, {helper("cl_shapes"), "first_call_interrupted", "100"}), o, 60);
  ASSERT_FALSE(ended.timed_out) << "it hangs";
  ASSERT_EQ(ended.exit_code, 0) << "a child hung";
  const Recording r = load(path("out.sbt"));
  std::map<uint32_t, uint64_t> made;
  std::istringstream lines(readFile(path("said")));
  std::string word;
  uint32_t pid = 0;
  for (uint64_t n = 0; lines >> word >> pid >> n;) made[pid] = n;
  EXPECT_EQ(made.size(), 100u);
  EXPECT_THAT(made, Contains(Pair(_, Gt(20u)))) << "no signal came";

  const std::map<ProcessId, uint32_t> pids = pidsOf(r.trace);
  std::map<uint32_t, uint64_t> found;
  for (const ProcessId id : r.trace.host_call.process_id) ++found[pids.at(id)];
  for (size_t i = 0; i < r.trace.loss.size(); ++i) {
    const LossRow row = r.trace.loss.row(i);
    if (r.trace.text(row.source) != "OpenCL records" || row.dropped == 0) continue;
    found[pids.at(row.process_id)] += row.dropped;
  }
  EXPECT_EQ(found, made);
  expectNoDuplicates(r.trace);
  expectLossesAddUp(r.trace);
}

TEST_P(ProcessShapeTest, AProgramThatUnloadsOpenClAgainAndAgainKeepsBeingRecorded) {
  const std::vector<std::string> command = {helper("cl_unload"), "5"};
  ASSERT_EQ(run(command).exit_code, 0) << "the driver itself does not survive this";
  launchesOf(command);
  EXPECT_THAT(said(path("said")), ElementsAre(25));
}

// The driver says that a kernel has ended after the program has closed the library.
TEST_P(ProcessShapeTest, AProgramMayCloseOpenClWhileAKernelRuns) {
  const std::vector<std::string> command = {helper("cl_unload"), "1", "busy"};
  ASSERT_EQ(run(command).exit_code, 0) << "the driver itself does not survive this";
  EXPECT_EQ(run(driver({GetParam()}, command), {}, 60).exit_code, 0);
  EXPECT_EQ(load(path("out.sbt")).trace.kernel.size(), 5u);
}

INSTANTIATE_TEST_SUITE_P(, ProcessShapeTest, ::testing::Values("layer", "preload"),
                         [](const auto& each) { return std::string(each.param); });

class HiddenProcessTest : public ProcessShapeTest {};

TEST_P(HiddenProcessTest, AChildWithAScrubbedEnvironmentIsCountedAsUnobserved) {
  const Recording r = record({"/bin/sh", "-c",
                              "env -i PATH=\"$PATH\" POCL_CACHE_DIR=\"$POCL_CACHE_DIR\" " +
                                  helper("cl_shapes") + " launches 5 >/dev/null; " +
                                  helper("cl_shapes") + " launches 3 >/dev/null; exit 4"});
  EXPECT_EQ(r.outcome.exit_code, 4);
  EXPECT_EQ(r.trace.kernel.size(), 3u);
  EXPECT_EQ(r.outcome.unobserved, 1u);
  size_t unobserved = 0;
  for (size_t i = 0; i < r.trace.process.size(); ++i) {
    const ProcessRow row = r.trace.process.row(i);
    if ((row.flags & process_flags::kUnobserved) == 0) continue;
    ++unobserved;
    EXPECT_THAT(std::string(r.trace.text(row.command_line)), ::testing::HasSubstr("launches 5"));
  }
  EXPECT_EQ(unobserved, 1u);
}

TEST_P(HiddenProcessTest, AStaticProgramIsCountedAsUnobserved) {
  const Recording r = record({helper("static_program")});
  EXPECT_EQ(r.outcome.exit_code, 6);
  EXPECT_EQ(r.outcome.unobserved, 1u);
  ASSERT_EQ(r.trace.process.size(), 1u);
  EXPECT_TRUE(r.trace.process.row(0).flags & process_flags::kUnobserved);
}

INSTANTIATE_TEST_SUITE_P(, HiddenProcessTest, ::testing::Values("layer"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace tracesmith
