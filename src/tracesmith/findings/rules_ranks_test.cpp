// SPDX-License-Identifier: Apache-2.0
// Findings about jobs of several ranks, and none where nothing is wrong with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tracesmith/analysis/communication/comm_trace_test_util.hpp"
#include "tracesmith/analysis/stragglers/generated_job_test_util.hpp"
#include "tracesmith/findings/findings.hpp"

namespace tracesmith {
namespace {

using test::CommTrace;
using test::GeneratedJob;
using test::JobFault;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Finding> ofRule(const Trace& trace, std::string_view rule) {
  std::vector<Finding> found = findingsOf(trace, {.predict = false}).list;
  std::erase_if(found, [&](const Finding& finding) { return finding.rule != rule; });
  return found;
}

TEST(RankFindings, AStragglerHasItsCauseAndGain) {
  const GeneratedJob job(
      {.fault = JobFault::kSlowGpu, .faulty = 5, .amount = 0.2, .spread = 0, .seed = 3});
  const std::vector<Finding> found = ofRule(job.trace, "straggler");
  ASSERT_EQ(found.size(), 1u);
  const Finding& finding = found[0];
  EXPECT_THAT(finding.title, HasSubstr("rank 5 (slow device)"));
  EXPECT_THAT(finding.cause, HasSubstr("times as long"));
  ASSERT_TRUE(finding.gain.share.has_value());
  EXPECT_GT(*finding.gain.share, 0.02);
  EXPECT_EQ(*finding.gain.share, finding.possible);
  EXPECT_LT(finding.gain.error, 0.02);
}

TEST(RankFindings, ClocksThatWereNotComparedDoNotMatter) {
  const GeneratedJob job(
      {.fault = JobFault::kSlowGpu, .faulty = 5, .amount = 0.2, .spread = 0, .seed = 3});
  ASSERT_FALSE(haveOneClock(job.trace));
  const Findings found = findingsOf(job.trace);
  ASSERT_EQ(found.list.size(), 1u);
  EXPECT_EQ(found.list[0].rule, "straggler");
  EXPECT_THAT(found.verdict, HasSubstr("Other ranks wait for rank 5 (slow device)"));
  EXPECT_THAT(found.verdict, HasSubstr("clocks of the ranks were not compared"));
  EXPECT_THAT(found.not_checked, Contains(AllOf(HasSubstr("host-late"), HasSubstr("imbalance"),
                                                HasSubstr("the ranks' clocks were not compared"))));
}

TEST(RankFindings, AJobWithoutFaultsHasNone) {
  const GeneratedJob job({.spread = 0, .seed = 4});
  for (const char* const rule : {"straggler", "hang", "collective-mismatch"}) {
    EXPECT_THAT(ofRule(job.trace, rule), IsEmpty()) << rule;
  }
}

TEST(RankFindings, ARankThatNeverCameIsNamedFirst) {
  CommTrace made(3);
  const auto world = made.world("NCCL");
  for (uint32_t rank = 0; rank < 3; ++rank) {
    for (uint64_t number = 1; number < 5; ++number) {
      if (rank == 1 && number > 2) continue;
      CommRow& row = made.call(rank, world[rank], "ncclAllReduce", CommKind::kCollective,
                               static_cast<int64_t>(100 * number + rank), 5);
      row.sequence = number;
      const uint64_t id = made.add();
      if (number < 3) made.work(rank, id, static_cast<int64_t>(100 * number + rank) + 10, 20);
    }
  }
  const Findings found = findingsOf(made.trace, {.file = "job.sbt", .predict = false});
  ASSERT_FALSE(found.list.empty());
  const Finding& hang = found.list.front();
  EXPECT_EQ(hang.rule, "hang");
  EXPECT_EQ(hang.severity, Severity::kWrong);
  EXPECT_EQ(hang.title,
            "Ranks 0 and 2 wait in ncclAllReduce #3 of world; rank 1 never came to it.");
  EXPECT_EQ(hang.evidence.begin_ns, 300);
  EXPECT_EQ(hang.evidence.command, "tracesmith analyze job.sbt --comm");
  EXPECT_THAT(found.verdict, HasSubstr(hang.title));
}

TEST(RankFindings, CallsThatDifferAreWrong) {
  CommTrace made(2);
  const auto world = made.world("NCCL");
  for (uint32_t rank = 0; rank < 2; ++rank) {
    made.collective(rank, world[rank], "ncclAllReduce", 1, 100, 10, rank == 0 ? 8 : 16);
  }
  const std::vector<Finding> found = ofRule(made.trace, "collective-mismatch");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].title, HasSubstr("Ranks called ncclAllReduce of world differently (size)"));
}

}  // namespace
}  // namespace tracesmith
