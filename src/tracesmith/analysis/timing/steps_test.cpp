// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/steps.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/analysis/timing/step_finder.hpp"
#include "tracesmith/base/clock.hpp"
#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StepsTest : public ::testing::Test {
 protected:
  StepsTest() {
    thread_ = s_.thread(s_.process(1, "train"), 2);
    stream_ = s_.stream(s_.device("GPU"), s_.trace.thread.process_id[0]);
  }
  void range(std::string_view name, int64_t begin, int64_t end,
             std::string_view category = "NVTX") {
    s_.trace.range.push({.start_ns = begin,
                         .duration_ns = end - begin,
                         .name = s_.text(name),
                         .category = s_.text(category),
                         .process_id = s_.trace.thread.process_id[0],
                         .thread_id = thread_});
  }
  /// Kernels of 10 ns, one after the other; "|": the device idles. Launched 1000 ns before.
  void kernels(std::string_view letters, bool launches = true) {
    for (const char c : letters) {
      if (c == '|') {
        now_ += 500;
        continue;
      }
      const uint64_t id = ++next_;
      if (launches) {
        s_.hostCall("launch", CallKind::kLaunch, thread_, StreamId::kNone, now_ - 1000, 1, id);
      }
      s_.kernel(std::string(1, c), stream_, now_, 10, launches ? id : 0);
      now_ += 10;
    }
  }
  Steps found() const { return stepsOf(s_.trace, DeviceOps::of(s_.trace)); }
  static std::vector<std::pair<int64_t, int64_t>> times(const Steps& steps) {
    std::vector<std::pair<int64_t, int64_t>> out;
    for (const Step& step : steps.all) out.emplace_back(step.begin_ns, step.end_ns);
    return out;
  }

  test::SampleTrace s_;
  ThreadId thread_{};
  StreamId stream_{};
  int64_t now_ = 5000;
  uint64_t next_ = 0;
};

TEST_F(StepsTest, WhatPyTorchNamesComesFirst) {
  range("ProfilerStep#11", 200, 300, "user_annotation");
  range("ProfilerStep#10", 100, 200, "user_annotation");
  range("step 1", 0, 500);
  range("step 2", 500, 1000);
  const Steps steps = found();
  EXPECT_EQ(steps.from, Steps::From::kProfilerStep);
  EXPECT_THAT(times(steps), ElementsAre(std::pair(100, 200), std::pair(200, 300)));
  EXPECT_EQ(steps.all[0].number, 10);
}

TEST_F(StepsTest, NumberedRangesThatSayThatTheyAreSteps) {
  range("epoch 0", 0, 1000);
  range("epoch 1", 1000, 2000);
  for (int i = 0; i < 4; ++i) {
    range("train step " + std::to_string(i + 7), i * 500, i * 500 + 400);
    range("conv2d", i * 500, i * 500 + 100);
    range("aten::op" + std::to_string(i), i * 500, i * 500 + 499, "cpu_op");
  }
  const Steps steps = found();
  EXPECT_EQ(steps.from, Steps::From::kNumberedRanges);
  EXPECT_EQ(steps.pattern, "train step #");
  ASSERT_EQ(steps.all.size(), 4U);
  EXPECT_EQ(steps.all[3].number, 10);
  EXPECT_EQ(steps.all[3].nameIn(s_.trace), "train step 10");
}

TEST_F(StepsTest, NumbersThatDoNotGrowOrRangesThatOverlapAreNoSteps) {
  range("step 2", 0, 100);
  range("step 1", 100, 200);
  range("batch 1", 0, 100);
  range("batch 2", 50, 150);
  EXPECT_EQ(found().from, Steps::From::kNowhere);
  EXPECT_THAT(found().basis(), HasSubstr("no steps"));
}

TEST_F(StepsTest, ARangeOfOneNameThatIsMostOfTheTime) {
  for (int i = 0; i < 3; ++i) {
    range("train_step", i * 100, i * 100 + 90);
    range("Optimizer.step#Adam.step", i * 100 + 70, i * 100 + 90, "user_annotation");
  }
  const Steps steps = found();
  EXPECT_EQ(steps.from, Steps::From::kRepeatedRange);
  EXPECT_EQ(steps.pattern, "train_step");
  EXPECT_EQ(steps.all.size(), 3U);
}

TEST_F(StepsTest, KernelsThatRepeatAreStepsAndTheirLayersAreNot) {
  // Initial work; then steps of four equal layers, the first of which was still being tuned.
  kernels("xyzw|aeebcbcbcbcod|abcbcbcbcod|abcbcbcbcod|abcbcbcbcod|abcbcbc");
  const Steps steps = found();
  EXPECT_EQ(steps.from, Steps::From::kRepeatedKernels);
  EXPECT_EQ(steps.pattern, "11 kernels from a on") << "the device idles before it";
  ASSERT_EQ(steps.all.size(), 3U);
  EXPECT_EQ(steps.all[1].begin_ns - steps.all[0].begin_ns, 11 * 10 + 500);
  EXPECT_EQ(steps.all[0].end_ns, steps.all[1].begin_ns);
  EXPECT_EQ(steps.all[0].nameIn(s_.trace), "repetition 1");
  EXPECT_THAT(steps.basis(), HasSubstr("inferred"));
  const DeviceOps ops = DeviceOps::of(s_.trace);
  const StepFinder finder(steps, ops);
  EXPECT_EQ(finder.stepOf(ops.ops[0]), steps.all.size()) << "before the first";
  EXPECT_EQ(finder.stepOf(ops.ops[17]), 0U);
  EXPECT_EQ(finder.stepOf(ops.ops[28]), 1U);
}

TEST_F(StepsTest, WorkBelongsToTheInnermostOpenStepOfItsProcess) {
  range("ProfilerStep#1", 0, 100);
  range("ProfilerStep#2", 10, 30);
  range("ProfilerStep#3", 20, 25);
  const ProcessId other = s_.process(3, "train");
  thread_ = s_.thread(other, 4);
  range("ProfilerStep#1", 40, 200);
  s_.trace.range.process_id.back() = other;
  const StreamId streams[] = {stream_, s_.stream(s_.device("GPU"), other)};
  const ThreadId threads[] = {static_cast<ThreadId>(1), thread_};
  const auto launch = [&](int process, int64_t at) {
    s_.hostCall("launch", CallKind::kLaunch, threads[process], StreamId::kNone, at, 1, ++next_);
    s_.kernel("k", streams[process], 1000 + static_cast<int64_t>(next_), 1, next_);
  };
  for (const int64_t at : {5, 15, 22, 27, 50, 100}) launch(0, at);
  for (const int64_t at : {39, 150}) launch(1, at);
  const Steps steps = found();
  const DeviceOps ops = DeviceOps::of(s_.trace);
  const StepFinder finder(steps, ops);
  std::vector<size_t> of;
  for (const DeviceOp& op : ops.ops) of.push_back(finder.stepOf(op));
  EXPECT_THAT(of, ElementsAre(0, 1, 2, 1, 0, 4, 4, 3));
  // The same if the last step is remembered, from any time to any other.
  for (const ProcessId from_process : {static_cast<ProcessId>(1), other}) {
    for (int64_t from = -1; from <= 201; ++from) {
      for (int64_t at = -1; at <= 201; ++at) {
        StepFinder::Found last;
        finder.stepAt(from_process, from, last);
        ASSERT_EQ(finder.stepAt(other, at, last), finder.stepAt(other, at)) << from << ' ' << at;
        ASSERT_EQ(finder.stepAt(static_cast<ProcessId>(1), at, last),
                  finder.stepAt(static_cast<ProcessId>(1), at))
            << from << ' ' << at;
      }
    }
  }
}

TEST_F(StepsTest, OfOneProcessAloneAreThoseOfAll) {
  range("ProfilerStep#1", 0, 100);
  const ProcessId other = s_.process(3, "worker");
  s_.hostCall("launch", CallKind::kLaunch, s_.thread(other, 4), StreamId::kNone, 50, 1, 77);
  s_.kernel("k", s_.stream(s_.device("GPU"), other), 60, 1, 77);
  const Steps steps = found();
  const DeviceOps ops = DeviceOps::of(s_.trace);
  EXPECT_EQ(StepFinder(steps, ops).stepOf(ops.ops[0]), 0U);
}

TEST_F(StepsTest, OneLaunchOfSeveralRepetitionsTellsNoTimes) {
  s_.hostCall("cudaGraphLaunch", CallKind::kLaunch, thread_, StreamId::kNone, 100, 1, 5);
  for (int i = 0; i < 12; ++i) {
    s_.kernel(std::string(1, static_cast<char>('a' + i % 4)), stream_, 1000 + i * 10, 10, 5);
  }
  const Steps steps = found();
  EXPECT_TRUE(steps.device_times);
  EXPECT_THAT(times(steps),
              ElementsAre(std::pair(1000, 1040), std::pair(1040, 1080), std::pair(1080, 1120)));
}

TEST_F(StepsTest, EachProcessHasItsOwnNumberedRanges) {
  const ProcessId other = s_.process(3, "train");
  for (int i = 0; i < 3; ++i) range("step " + std::to_string(i), i * 100, i * 100 + 90);
  thread_ = s_.thread(other, 4);
  for (int i = 0; i < 3; ++i) {
    range("step " + std::to_string(i), i * 100 + 50, i * 100 + 130);
    s_.trace.range.process_id.back() = other;
  }
  const Steps steps = found();
  ASSERT_EQ(steps.all.size(), 6U);
  EXPECT_NE(steps.all[0].process, steps.all[1].process);
  EXPECT_EQ(steps.all[1].begin_ns, 50);
}

TEST_F(StepsTest, WithoutLaunchesTheTimesAreThoseOfTheDevice) {
  kernels("abcd|abcd|abcd", false);
  const Steps steps = found();
  ASSERT_EQ(steps.all.size(), 3U);
  EXPECT_TRUE(steps.device_times);
  EXPECT_EQ(steps.all[0].begin_ns, 5000);
  EXPECT_EQ(steps.all[2].end_ns, 5000 + 2 * 540 + 40);
}

TEST_F(StepsTest, ALongNameIsReadOnceHoweverManyRangesHaveIt) {
  for (const std::string_view begin : {"step 1", "step ", "ProfilerStep"}) {
    const std::string name =
        std::string(begin) + std::string(1u << 20, begin == "step 1" ? '1' : 'x');
    const auto cpuTime = [&](int ranges) {
      s_.trace.range = {};
      range(name, 0, 90);
      auto row = s_.trace.range.row(0);
      for (row.start_ns = 100; row.start_ns < 100 * ranges; row.start_ns += 100) {
        s_.trace.range.push(row);
      }
      double best = 1e18;
      for (int attempt = 0; attempt < 3; ++attempt) {
        const int64_t began = clockNs(CLOCK_PROCESS_CPUTIME_ID);
        EXPECT_EQ(found().all.size(), static_cast<size_t>(ranges));
        best = std::min(best, static_cast<double>(clockNs(CLOCK_PROCESS_CPUTIME_ID) - began));
      }
      return best;
    };
    const double few = cpuTime(5);
    EXPECT_LT(cpuTime(2'000) / few, 20) << begin << ": 400 times as many";
  }
}

TEST_F(StepsTest, AStepOfMoreThanAllTimeOverflowsNothing) {
  kernels("abcd|abcd|abcd");
  s_.trace.host_call.start_ns[0] = INT64_MIN;
  s_.trace.host_call.start_ns[4] = INT64_MAX;
  const Steps steps = found();
  ASSERT_EQ(steps.all.size(), 3U);
  EXPECT_EQ(steps.all[0].duration(), INT64_MAX);
}

TEST_F(StepsTest, WhatDoesNotRepeatHasNone) {
  kernels("abcdeafbgchdiejfkglh");
  EXPECT_EQ(found().from, Steps::From::kNowhere);
}

}  // namespace
}  // namespace tracesmith
