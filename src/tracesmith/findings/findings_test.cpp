// SPDX-License-Identifier: Apache-2.0
// Each rule: a trace made to have its problem, and a clean trace without it.
#include "tracesmith/findings/findings.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>

#include "tracesmith/findings/facts.hpp"
#include "tracesmith/findings/findings_report.hpp"
#include "tracesmith/findings/findings_test_util.hpp"

namespace tracesmith {
namespace {

using findings::test::Program;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Findings of(const Program& program) { return findingsOf(program.trace()); }

std::set<std::string> rulesOf(const Program& program) {
  std::set<std::string> out;
  for (const Finding& finding : of(program).list) out.insert(finding.rule);
  return out;
}

Finding finding(const Findings& all, const std::string& rule) {
  const auto found = std::find_if(all.list.begin(), all.list.end(),
                                  [&](const Finding& f) { return f.rule == rule; });
  EXPECT_NE(found, all.list.end()) << "no finding " << rule;
  return found == all.list.end() ? Finding{} : *found;
}

/// A host that launches ahead of a busy device, with kernels of several names.
Program clean() {
  Program program;
  for (int i = 0; i < 200; ++i) program.launch("kernel " + std::to_string(i % 10), 100'000);
  return program;
}

TEST(Findings, ACleanTraceHasNone) {
  EXPECT_THAT(rulesOf(clean()), IsEmpty());
  EXPECT_THAT(of(clean()).verdict, HasSubstr("GPU busy 100.0 %"));
}

TEST(Findings, AnEmptyTraceHasNoneAndSaysSo) {
  const Findings found = findingsOf(Trace{});
  EXPECT_THAT(found.list, IsEmpty());
  EXPECT_EQ(found.verdict, "The trace has no device work.");
}

TEST(Findings, HostLate) {
  Program program;
  for (int i = 0; i < 40; ++i) {
    program.launch("kernel " + std::to_string(i % 10), 500'000);
    program.sleep(1'000'000);
  }
  const Findings found = of(program);
  EXPECT_EQ(found.list.front().rule, "host-late");
  const Finding late = found.list.front();
  EXPECT_NEAR(*late.share, 0.5, 0.02);
  EXPECT_EQ(late.severity, Severity::kMajor);
  EXPECT_EQ(late.evidence.rows, 39U);
  EXPECT_NEAR(*late.gain.share, 0.5, 0.05);  // the host alone determines the run time
  EXPECT_EQ(late.gain.command, "tracesmith whatif FILE --scale 'host:0.5' --scale 'call=.:0.5'");
  EXPECT_THAT(found.verdict, HasSubstr("idle 49.5 %: the host was late for 49.5 %"));
}

TEST(Findings, NamesTheCallInWhichTheHostWasLate) {
  Program program;
  for (int i = 0; i < 40; ++i) {
    program.launch("kernel " + std::to_string(i % 10), 500'000);
    program.sleep(600'000);
    program.call("slowCall", CallKind::kOther, 1'000'000);
  }
  EXPECT_THAT(finding(of(program), "host-late").cause, HasSubstr("in slowCall for"));
  EXPECT_THAT(finding(of(program), "host-late").advice, HasSubstr("Call slowCall outside"));
}

TEST(Findings, SaysOfLateGapsOnlyWhatTheHostDidInThem) {
  Program program;
  for (int i = 0; i < 40; ++i) {
    program.launch("kernel " + std::to_string(i % 10), 500'000);
    program.sleep(1'000'000);
  }
  const std::string own = finding(of(program), "host-late").cause;
  for (int i = 0; i < 10; ++i) {
    program.finish();
    program.launch("before", 100'000);
    program.launch("slow " + std::to_string(i), 100'000, 9'000'000, 8'900'000);
  }
  const Findings found = of(program);
  EXPECT_GT(*finding(found, "slow-launch").share, 0.5);
  EXPECT_EQ(finding(found, "host-late").cause, own);
}

TEST(Findings, FewLongGapsAreNoCostOfLaunches) {
  Program few = clean();
  few.finish();
  few.sleep(30'000'000);
  few.launch("kernel 1", 100'000);
  EXPECT_THAT(finding(of(few), "host-late").advice, HasSubstr("in the longest gaps"));
  Program many;
  for (int i = 0; i < 300; ++i) many.launch("kernel " + std::to_string(i % 10), 2'000, 8'000);
  EXPECT_THAT(finding(of(many), "host-late").advice, Not(HasSubstr("in the longest gaps")));
}

TEST(Findings, APartIsNeverMoreThanItsWhole) {
  Program program;
  for (int i = 0; i < 300; ++i) {
    // Every third launch starts before the gap.
    program.launch("kernel " + std::to_string(i % 10), i % 3 == 0 ? 9'000 : 2'000, 8'000);
  }
  const Findings found = of(program);
  const Finding whole = finding(found, "host-late");
  const Finding part = finding(found, "launch-bound");
  EXPECT_EQ(part.part_of, "host-late");
  EXPECT_LE(*part.share, *whole.share);
  EXPECT_LE(part.evidence.rows, whole.evidence.rows);
}

TEST(Findings, Synchronization) {
  Program program;
  for (int i = 0; i < 40; ++i) {
    program.sleep(400'000);
    program.launch("kernel " + std::to_string(i % 10), 500'000);
    program.wait("cudaStreamSynchronize");
  }
  const Findings found = of(program);
  const Finding sync = finding(found, "synchronization");
  EXPECT_THAT(sync.title, HasSubstr("39 calls of cudaStreamSynchronize"));
  EXPECT_THAT(sync.cause,
              HasSubstr("For 99.6 % of this idle time it is in the program's own code"));
  EXPECT_NEAR(*sync.share, 0.44, 0.03);
  ASSERT_TRUE(sync.gain.share) << sync.gain.why_not;
  EXPECT_NEAR(*sync.gain.share, 0.44, 0.05);  // host and device run at the same time then
}

TEST(Findings, LaunchBound) {
  Program program;
  for (int i = 0; i < 300; ++i) program.launch("kernel " + std::to_string(i % 10), 2'000, 8'000);
  const Finding bound = finding(of(program), "launch-bound");
  EXPECT_GT(*bound.share, 0.5);
  EXPECT_GT(bound.gain.share.value_or(0), 0.3);
  EXPECT_THAT(rulesOf(clean()), Not(Contains("launch-bound")));
}

TEST(Findings, SlowLaunch) {
  Program program = clean();
  program.finish();
  for (int i = 0; i < 10; ++i) {
    program.launch("late " + std::to_string(i), 100'000, 5'000'000, 4'900'000);
  }
  EXPECT_GT(*finding(of(program), "slow-launch").share, 0.3);
}

TEST(Findings, Allocation) {
  Program program;
  for (int i = 0; i < 40; ++i) {
    program.launch("kernel " + std::to_string(i % 10), 500'000);
    program.finish();
    program.call("cudaMalloc", CallKind::kMemory, 300'000);
  }
  const Finding allocation = finding(of(program), "allocation");
  EXPECT_NEAR(*allocation.share, 0.37, 0.03);
  EXPECT_THAT(allocation.evidence.text, HasSubstr("cudaMalloc (39"));
}

TEST(Findings, Build) {
  Program program;
  program.call("clBuildProgram", CallKind::kBuild, 20'000'000);
  for (int i = 0; i < 200; ++i) program.launch("kernel " + std::to_string(i % 10), 100'000);
  const Finding build = finding(of(program), "build");
  EXPECT_NEAR(*build.share, 0.5, 0.01);  // 20 ms before 20 ms of kernels
  EXPECT_THAT(build.cause, HasSubstr("1 build, before the first device work"));
  EXPECT_EQ(build.part_of, "start-and-end");
}

TEST(Findings, StartAndEnd) {
  Program program = clean();  // 20 ms of device work
  program.finish();
  program.call("cudaFree", CallKind::kMemory, 4'000'000);
  program.sleep(14'000'000);
  program.call("cudaDeviceReset", CallKind::kOther, 2'000'000);
  const Findings found = of(program);
  const Finding end = finding(found, "start-and-end");
  EXPECT_NEAR(*end.share, 0.5, 0.01);
  EXPECT_NEAR(end.possible, 0.075, 0.005);  // half of 6 ms of calls in 40 ms
  EXPECT_EQ(end.evidence.rows, 3U);         // with the first launch, before its kernel starts
  EXPECT_THAT(end.evidence.text, HasSubstr("cudaFree (1, 4.00 ms), cudaDeviceReset (1, 2.00 ms)"));
  EXPECT_NEAR(static_cast<double>(end.evidence.begin_ns), 20e6, 0.1e6);
  EXPECT_FALSE(end.gain.share);
  EXPECT_THAT(found.verdict, HasSubstr("50.0 % before the first or after the last"));
  EXPECT_THAT(rulesOf(clean()), Not(Contains("start-and-end")));
}

TEST(Findings, CallsOfSeveralThreadsCountOnceInStartAndEnd) {
  Program program;
  program.call("clBuildProgram", CallKind::kBuild, 20'000'000);
  program.secondThread("clCreateContext", CallKind::kOther, 0, 20'000'000);
  for (int i = 0; i < 200; ++i) program.launch("kernel " + std::to_string(i % 10), 100'000);
  const Finding start = finding(of(program), "start-and-end");
  EXPECT_NEAR(start.possible, 0.25, 0.01);
  EXPECT_EQ(start.evidence.rows, 3U);
}

TEST(Findings, ABuildAfterTheFirstWorkIsNoPartOfTheStart) {
  Program program;
  for (int i = 0; i < 200; ++i) {
    if (i == 100) {
      program.finish();
      program.call("clBuildProgram", CallKind::kBuild, 20'000'000);
    }
    program.launch("kernel " + std::to_string(i % 10), 100'000);
  }
  EXPECT_EQ(finding(of(program), "build").part_of, "host-late");
  EXPECT_THAT(rulesOf(program), Not(Contains("start-and-end")));
}

TEST(Findings, UnexplainedIdle) {
  Program program;
  for (int i = 0; i < 20; ++i)
    program.deviceOnly("kernel " + std::to_string(i % 10), i * 1'000, 500);
  const Findings found = of(program);
  const Finding idle = finding(found, "idle-unexplained");
  EXPECT_NEAR(*idle.share, 0.487, 0.01);
  EXPECT_FALSE(idle.gain.share);
  EXPECT_THAT(rulesOf(program), Not(Contains("host-late")));
}

TEST(Findings, ExposedCommunication) {
  Program program = clean();
  for (int i = 0; i < 20; ++i) program.launch("ncclDevKernel_AllReduce", 200'000);
  const Finding communication = finding(of(program), "communication-exposed");
  EXPECT_NEAR(*communication.share, 4.0 / 24, 0.01);
  EXPECT_NEAR(*communication.gain.share, 4.0 / 24, 0.01);
}

TEST(Findings, GainOfCommunicationIsAboutAllCollectiveLibraries) {
  for (const char* name : {"mscclKernel_AllReduce", "hcom_allReduce__428_0_1", "xccl::allreduce",
                           "two_shot_all_reduce_kernel"}) {
    Program program = clean();
    for (int i = 0; i < 10; ++i) program.launch("ncclDevKernel_AllReduce", 200'000);
    for (int i = 0; i < 10; ++i) program.launch(name, 200'000);
    // A connected-component labelling communicates nothing.
    for (int i = 0; i < 20; ++i) program.launch("ccl_label", 200'000);
    const Finding communication = finding(of(program), "communication-exposed");
    EXPECT_NEAR(*communication.share, 4.0 / 28, 0.01) << name;
    EXPECT_NEAR(*communication.gain.share, 4.0 / 28, 0.01) << name;
    EXPECT_THAT(communication.gain.command, HasSubstr("--remove 'communication'"));
  }
}

TEST(Findings, OverlappedCommunicationIsNone) {
  Program program;
  for (int i = 0; i < 100; ++i) {
    program.launch("kernel " + std::to_string(i % 10), 200'000);
    program.launchIn(1, "ncclDevKernel_AllReduce", 100'000);
  }
  EXPECT_THAT(rulesOf(program), Not(Contains("communication-exposed")));
}

TEST(Findings, ExposedAndSmallCopies) {
  Program program = clean();
  for (int i = 0; i < 150; ++i) program.copy(CopyKind::kHostToDevice, 1'000, 20'000, "");
  const Findings found = of(program);
  EXPECT_NEAR(*finding(found, "copies-exposed").share, 3.0 / 23, 0.01);
  EXPECT_NEAR(*finding(found, "small-copies").share, 3.0 / 23, 0.01);
  EXPECT_THAT(rulesOf(program), Not(Contains("pageable-copies")));
}

TEST(Findings, OverlapIsNoAdviceForCopiesThatTakeFarLongerThanKernels) {
  const auto advice = [](int copies) {
    Program program = clean();
    for (int i = 0; i < copies; ++i)
      program.copy(CopyKind::kHostToDevice, 1'000'000, 1'000'000, "");
    return finding(of(program), "copies-exposed").advice;
  };
  EXPECT_THAT(advice(30), HasSubstr("Copy the next input in a stream of its own"));
  EXPECT_THAT(advice(50), HasSubstr("Kernels take only 20.0 ms"));
}

TEST(Findings, PageableCopies) {
  Program program = clean();
  for (int i = 0; i < 10; ++i) {
    program.copy(CopyKind::kHostToDevice, 10'000'000, 500'000, "Memcpy HtoD (Pageable -> Device)");
  }
  EXPECT_NEAR(*finding(of(program), "pageable-copies").share, 0.2, 0.01);
  EXPECT_THAT(rulesOf(program), Not(Contains("small-copies")));
}

TEST(Findings, DominantKernel) {
  Program program = clean();
  for (int i = 0; i < 100; ++i) program.launch("void ns::gemm<float>(float*)", 200'000);
  const Findings found = of(program);
  const Finding kernel = finding(found, "dominant-kernel");
  EXPECT_EQ(kernel.title,
            "One kernel, gemm<f32>, takes 50.0 % of the run (50.0 % of kernel time).");
  EXPECT_NEAR(*kernel.gain.share, 0.25, 0.01);
  EXPECT_THAT(kernel.gain.command, HasSubstr("--scale 'kernel=gemm:0.5'"));
  EXPECT_THAT(found.verdict, HasSubstr("gemm<f32> takes 50.0 % of kernel time"));
}

TEST(Findings, OccupancyAndTails) {
  Program program;
  // 4 units of 1024 threads. 48 KiB of 64 KiB shared: one block of 128 threads, 12.5 %.
  const ShapeId low = program.shape(4 * 128, 128, 48 << 10);
  // Blocks of 1024 threads, one per unit: 5 blocks are 1.25 waves, so 3 of 8 places are empty.
  const ShapeId tail = program.shape(5 * 1024, 1024, 0);
  for (int i = 0; i < 100; ++i)
    program.launch("low " + std::to_string(i % 10), 100'000, 2'000, 0, low);
  for (int i = 0; i < 100; ++i)
    program.launch("tail " + std::to_string(i % 10), 100'000, 2'000, 0, tail);
  const Findings found = of(program);
  EXPECT_NEAR(*finding(found, "low-occupancy").share, 0.5, 0.01);
  EXPECT_THAT(finding(found, "low-occupancy").cause, HasSubstr("shared memory"));
  EXPECT_NEAR(*finding(found, "tail").share, 0.5 * 3 / 8, 0.01);
  EXPECT_THAT(rulesOf(clean()), Not(Contains("tail")));
}

TEST(Findings, UnusedStreams) {
  Program program;
  const ShapeId small = program.shape(1024, 1024, 0);  // one block on four units
  for (int i = 0; i < 200; ++i)
    program.launch("k" + std::to_string(i % 10), 100'000, 2'000, 0, small);
  EXPECT_THAT(rulesOf(program), Contains("streams-unused"));
  Program two;
  const ShapeId same = two.shape(1024, 1024, 0);
  for (int i = 0; i < 200; ++i) {
    two.launchIn(static_cast<size_t>(i % 2), "k" + std::to_string(i % 10), 100'000, same);
  }
  EXPECT_THAT(rulesOf(two), Not(Contains("streams-unused")));
}

TEST(Findings, StepVariance) {
  Program program;
  for (int i = 0; i < 10; ++i) {
    const int64_t from = program.now();
    for (int k = 0; k < 10; ++k) program.launch("kernel " + std::to_string(k), 100'000);
    program.finish();
    if (i == 7) program.sleep(5'000'000);
    program.range("ProfilerStep#" + std::to_string(i), from, program.now());
  }
  const Finding variance = finding(of(program), "step-variance");
  EXPECT_THAT(variance.title, HasSubstr("1 of 10 steps"));
  EXPECT_THAT(variance.cause, HasSubstr("the host, or a wait"));
  EXPECT_THAT(variance.evidence.text, HasSubstr("ProfilerStep#7"));
}

TEST(Findings, Imbalance) {
  Program program;
  program.addDevice();
  for (int i = 0; i < 100; ++i) {
    program.launch("kernel " + std::to_string(i % 10), 200'000);
    program.launchIn(2, "kernel " + std::to_string(i % 10), 100'000);
  }
  const Finding found = finding(of(program), "imbalance");
  EXPECT_THAT(found.title, HasSubstr("50.0 % less"));
  // The busiest computes 20 ms, both together 30 ms: with equal loads, 15 ms each.
  const findings::Facts facts(program.trace());
  EXPECT_NEAR(found.possible, 10e6 / static_cast<double>(2 * facts.runNs()), 1e-9);
}

TEST(Findings, SharesOfConcurrentWorkCountTimeOnce) {
  EXPECT_EQ(findings::coveredNs({}), 0);
  EXPECT_EQ(findings::coveredNs({{0, 10}, {5, 20}, {30, 40}, {31, 32}, {40, 41}}), 31);
}

TEST(Findings, WhatImportersSayIsNotLeftOut) {
  Program program = clean();
  program.loseUnknown(0, "2 bytes could not be used");
  const Findings found = of(program);
  EXPECT_THAT(found.not_checked, Contains(HasSubstr("2 bytes could not be used")));
  Program more = clean();
  more.loseUnknown(5, "cut");
  EXPECT_THAT(finding(of(more), "events-lost").title, HasSubstr("lacks 5 events"));
}

TEST(Findings, MemoryThatGrowsAndMemoryThatDoesNot) {
  Program leak = clean();
  Program steady = clean();
  for (int i = 0; i < 40; ++i) {
    leak.allocate(1000 + static_cast<uint64_t>(i), 1 << 20, i * 1'000);
    steady.allocate(1000 + static_cast<uint64_t>(i), 1 << 20, i * 1'000);
    steady.release(1000 + static_cast<uint64_t>(i), i * 1'000 + 500);
  }
  EXPECT_THAT(rulesOf(leak), Contains("memory-growth"));
  EXPECT_THAT(rulesOf(steady), Not(Contains("memory-growth")));
}

TEST(Findings, MemoryPeak) {
  Program program = clean();
  program.allocate(1, uint64_t{31} << 30, 0);  // of 32 GiB
  EXPECT_THAT(finding(of(program), "memory-peak").title, HasSubstr("96.9 %"));
}

TEST(Findings, LostEventsComeFirst) {
  Program program = clean();
  program.lose(1000, 100);
  const Findings found = of(program);
  EXPECT_EQ(found.list.front().rule, "events-lost");
  EXPECT_EQ(found.list.front().severity, Severity::kWrong);
  EXPECT_THAT(found.verdict, HasSubstr("lacks 10.0 %"));
}

TEST(Findings, AreOrderedByWhatAFixSaves) {
  Program program;
  for (int i = 0; i < 40; ++i) {
    program.launch("kernel " + std::to_string(i % 10), 500'000);
    program.launch("ncclDevKernel_AllReduce", 100'000);
    program.wait("cudaDeviceSynchronize");
    program.sleep(1'800'000);
  }
  const Findings found = of(program);
  ASSERT_GE(found.list.size(), 2U);
  EXPECT_EQ(found.list[0].rule, "host-late");
  EXPECT_THAT(rulesOf(program), Contains("communication-exposed"));
}

TEST(Findings, PredictionsCanBeOff) {
  Program program = clean();
  for (int i = 0; i < 100; ++i) program.launch("gemm", 200'000);
  const Findings found = findingsOf(program.trace(), {.predict = false});
  EXPECT_FALSE(finding(found, "dominant-kernel").gain.share);
  EXPECT_EQ(finding(found, "dominant-kernel").gain.why_not, "predictions are off");
}

TEST(FindingsReport, HasARowPerFinding) {
  Program program = clean();
  for (int i = 0; i < 100; ++i) program.launch("gemm", 200'000);
  const Findings found = of(program);
  const std::vector<ReportTable> tables = findingsReport(found);
  ASSERT_EQ(tables.size(), 3U);
  EXPECT_EQ(tables[1].rows.size(), found.list.size());
  for (const auto& row : tables[1].rows) EXPECT_EQ(row.size(), tables[1].columns.size());
}

}  // namespace
}  // namespace tracesmith
