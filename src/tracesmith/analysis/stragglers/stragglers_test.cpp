// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/stragglers/stragglers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tracesmith/analysis/stragglers/change_points.hpp"
#include "tracesmith/analysis/stragglers/generated_job_test_util.hpp"
#include "tracesmith/analysis/stragglers/outliers.hpp"

namespace tracesmith {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ChangePoints, AreWhereTheLevelChanges) {
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) values.push_back((i < 25 ? 1.0 : 1.5) + 0.01 * (i % 3));
  EXPECT_THAT(findChangePoints(values), ElementsAre(25));
  EXPECT_THAT(findChangePoints(std::vector<double>(30, 2.0)), IsEmpty());
  EXPECT_THAT(findChangePoints({}), IsEmpty());
}

TEST(JobSteps, PeriodIsTheShortestThatRepeats) {
  EXPECT_EQ(periodOf({1, 2, 3, 1, 2, 3, 1, 2, 3}), 3u);
  EXPECT_EQ(periodOf({1, 1, 2, 1, 1, 2, 1, 1, 2, 1}), 3u);
  EXPECT_EQ(periodOf({5, 5, 5, 5}), 1u);
  EXPECT_EQ(periodOf({1, 2, 3, 4, 5, 6}), 0u);
  EXPECT_EQ(periodOf({}), 0u);
}

TEST(Stragglers, TheLengthOfAJobIsOwnWorkAndTransfers) {
  const test::GeneratedJob job({.seed = 5});
  const StragglerReport report = findStragglers(job.trace);
  EXPECT_EQ(report.problem, "");
  EXPECT_EQ(report.steps.count, 24u);
  EXPECT_EQ(report.own_ns + report.transfer_ns, report.length_ns);
  int64_t critical = 0;
  for (const int64_t ns : report.critical_ns) critical += ns;
  EXPECT_EQ(critical, report.own_ns);
  // The recorded job, from the first arrival to the last end in any rank's clock.
  int64_t recorded = 0;
  for (uint32_t r = 0; r < report.timeline.ranks.size(); ++r) {
    const auto lane = report.timeline.laneOf(r);
    recorded =
        std::max(recorded, lane.back().begin_ns + lane.back().duration_ns - lane.front().begin_ns);
  }
  EXPECT_NEAR(static_cast<double>(report.length_ns), static_cast<double>(recorded),
              static_cast<double>(recorded) * 0.02);
}

TEST(Stragglers, EachFaultIsNamed) {
  struct Case {
    test::JobFault fault;
    double amount;
    StragglerKind kind;
  };
  for (const Case& c : {Case{test::JobFault::kSlowGpu, 0.1, StragglerKind::kSlowDevice},
                        Case{test::JobFault::kImbalance, 0.2, StragglerKind::kMoreWork},
                        Case{test::JobFault::kPauses, 1.0, StragglerKind::kLateHost},
                        Case{test::JobFault::kSlowNic, 0.5, StragglerKind::kSlowLink}}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const uint32_t faulty = 3 + static_cast<uint32_t>(seed);
      const test::GeneratedJob job({.data = 4,
                                    .tensor = 2,
                                    .pipeline = 2,
                                    .ranks_per_host = 4,
                                    .fault = c.fault,
                                    .faulty = faulty,
                                    .amount = c.amount,
                                    .seed = seed});
      const StragglerReport report = findStragglers(job.trace);
      ASSERT_FALSE(report.stragglers.empty()) << toString(c.kind) << " seed " << seed;
      const Straggler& first = report.stragglers.front();
      EXPECT_THAT(first.ranks, ElementsAre(faulty)) << toString(c.kind) << " seed " << seed;
      EXPECT_STREQ(toString(first.kind), toString(c.kind)) << first.evidence;
    }
  }
}

TEST(Stragglers, OfTwoRanksOneMustDifferByMore) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    test::JobPlan plan{.data = 2, .tensor = 1, .pipeline = 1, .seed = seed};
    for (const Straggler& s : findStragglers(test::GeneratedJob(plan).trace).stragglers) {
      ADD_FAILURE() << "seed " << seed << ": " << toString(s.kind) << ' ' << s.p << s.evidence;
    }
    plan.fault = test::JobFault::kSlowGpu;
    plan.faulty = seed % 2;
    plan.amount = 0.25;
    const StragglerReport report = findStragglers(test::GeneratedJob(plan).trace);
    ASSERT_FALSE(report.stragglers.empty()) << "seed " << seed;
    EXPECT_THAT(report.stragglers.front().ranks, ElementsAre(plan.faulty)) << "seed " << seed;
  }
}

TEST(Stragglers, CleanJobsHaveNone) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const test::GeneratedJob job({.seed = seed});
    for (const Straggler& s : findStragglers(job.trace).stragglers) {
      ADD_FAILURE() << "seed " << seed << ": " << toString(s.kind) << ' ' << s.ranks[0] << ' '
                    << s.gain_share << ' ' << s.p << ' ' << s.evidence;
    }
  }
}

TEST(Stragglers, AFaultThatBeginsLaterHasItsStep) {
  const test::GeneratedJob job({.steps = 40,
                                .fault = test::JobFault::kSlowGpu,
                                .faulty = 5,
                                .amount = 0.2,
                                .from_step = 22,
                                .seed = 3});
  const StragglerReport report = findStragglers(job.trace);
  ASSERT_FALSE(report.stragglers.empty());
  EXPECT_THAT(report.stragglers.front().ranks, ElementsAre(5u));
  ASSERT_TRUE(report.stragglers.front().since);
  EXPECT_NEAR(*report.stragglers.front().since, 22, 1);
}

TEST(Stragglers, OperationsWithoutAStartComeWhenTheTypicalRankDoes) {
  test::GeneratedJob job(
      {.fault = test::JobFault::kImbalance, .faulty = 5, .amount = 0.2, .seed = 3});
  const auto forgetStart = [&](size_t i) {
    job.trace.comm_work.error_ns[i] = CommOperation::kStartUnknown;
  };
  const std::vector<int64_t> before = ownTimes(findStragglers(job.trace).timeline);
  for (size_t i = 0; i < 7; ++i) forgetStart(i * job.trace.comm_work.size() / 7);
  const StragglerReport report = findStragglers(job.trace);
  EXPECT_EQ(report.problem, "");
  EXPECT_EQ(report.timeline.without_start, 7u);
  const std::vector<int64_t> own = ownTimes(report.timeline);
  ASSERT_EQ(own.size(), before.size());
  size_t changed = 0;
  for (size_t i = 0; i < own.size(); ++i) changed += own[i] != before[i] ? 1 : 0;
  EXPECT_GT(changed, 0u);
  EXPECT_LE(changed, 7u);
  ASSERT_FALSE(report.stragglers.empty());
  EXPECT_THAT(report.stragglers.front().ranks, ElementsAre(5u));
  for (size_t i = 0; i < job.trace.comm_work.size(); i += 3) forgetStart(i);
  EXPECT_THAT(findStragglers(job.trace).problem, testing::HasSubstr("when they started"));
}

TEST(Outliers, TwoOthersShowHowFarTheyDiffer) {
  // By hand: 0.3 beside 0 and 0.1 is (0.3 - 0.05) / (0.0707 sqrt(1.5)) = 2.887 deviations.
  EXPECT_NEAR(outlierP({0.0, 0.1, 0.3}, 2, {0, 0}), studentTail(2.8868, 1), 1e-4);
  EXPECT_LT(outlierP({0.1, 0.1, 0.3}, 2, {0.005, 8}), 1e-6);
}

TEST(Stragglers, WhatCannotBeSaidIsSaid) {
  EXPECT_NE(findStragglers(Trace()).problem, "");
  const test::GeneratedJob job({.steps = 2});
  EXPECT_NE(findStragglers(job.trace).problem, "");
}

}  // namespace
}  // namespace tracesmith
