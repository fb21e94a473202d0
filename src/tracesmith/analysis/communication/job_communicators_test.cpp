// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/job_communicators.hpp"

#include <gtest/gtest.h>

#include "tracesmith/analysis/communication/comm_trace_test_util.hpp"

namespace tracesmith {
namespace {

using test::CommTrace;

TEST(MemberNumbers, AreReadAsFarAsTheyAreWritten) {
  const MemberNumbers numbers("0-3,7,9-10");
  EXPECT_EQ(numbers.count(), 7u);
  EXPECT_EQ(numbers.at(3), 3u);
  EXPECT_EQ(numbers.at(4), 7u);
  EXPECT_EQ(numbers.at(6), 10u);
  EXPECT_FALSE(numbers.at(7));
  EXPECT_FALSE(numbers.at(-1));
  EXPECT_EQ(MemberNumbers("2-3,...").at(1), 3u);
  EXPECT_FALSE(MemberNumbers("2-3,...").at(2));
  for (const char* damaged : {"", "x", "3-1", "-", "99999999999", "1-99999999999"}) {
    EXPECT_FALSE(MemberNumbers(damaged).at(1)) << damaged;
  }
  EXPECT_EQ(MemberNumbers("0-4294967295").at(4294967295), 4294967295u);
  EXPECT_EQ(MemberNumbers("5").at(0), 5u);
}

TEST(JobCommunicators, RowsOfOneKeyAreOneCommunicator) {
  CommTrace made(3);
  const auto world = made.world();
  const CommunicatorId half = made.communicator(0, 8, 0, 2, "0,2", "half");
  made.communicator(2, 8, 1, 2, "0,2", "half");
  JobCommunicators job(made.trace);
  ASSERT_EQ(job.all.size(), 2u);
  const CommMember& member = job.members[job.memberOf(half)];
  EXPECT_EQ(job.all[member.communicator].label, "half");
  EXPECT_TRUE(job.all[member.communicator].isWhole());
  EXPECT_EQ(job.labelOf(member), "0");
  EXPECT_EQ(job.ranks()[job.whoIs(member.communicator, 1)].label, "2") << "rank 1 of the half";
  EXPECT_EQ(job.whoIs(member.communicator, 1),
            job.whoIs(job.members[job.memberOf(world[0])].communicator, 2));
  EXPECT_EQ(job.whoIs(member.communicator, -1), JobCommunicators::kNone);
  EXPECT_EQ(job.memberOf(CommunicatorId{}), JobCommunicators::kNone);
  EXPECT_EQ(job.memberOf(CommunicatorId{99}), JobCommunicators::kNone);
  EXPECT_EQ(job.ranks().size(), 3u);
}

TEST(JobCommunicators, ManyRanksThatAreOnlyClaimedCostNothing) {
  CommTrace made(1);
  const CommunicatorId id = made.communicator(0, 7, 5, 1'000'000'000, "0-999999999");
  JobCommunicators job(made.trace);
  const uint32_t communicator = job.members[job.memberOf(id)].communicator;
  EXPECT_EQ(job.all[communicator].ranks, 1'000'000'000u);
  EXPECT_EQ(job.ranks()[job.whoIs(communicator, 999'999'999)].label, "999999999");
  EXPECT_EQ(job.ranks().size(), 2u);
  EXPECT_FALSE(job.all[communicator].isWhole());
}

TEST(JobCommunicators, UnknownKeysDoNotJoin) {
  CommTrace made(2);
  made.communicator(0, 0, 0, 2, "", "a");
  made.communicator(1, 0, 1, 2, "", "b");
  const JobCommunicators job(made.trace);
  EXPECT_EQ(job.all.size(), 2u);
}

TEST(JobCommunicators, EqualNamesAreTold) {
  CommTrace made(2);
  for (uint64_t key : {1, 2}) {
    for (uint32_t rank : {0u, 1u}) made.communicator(rank, key, rank, 2, "", "", "NCCL");
  }
  const JobCommunicators job(made.trace);
  EXPECT_EQ(job.all[0].label, "NCCL of 2 ranks #1");
  EXPECT_EQ(job.all[1].label, "NCCL of 2 ranks #2");
  EXPECT_FALSE(job.numbersNote().empty()) << "NCCL does not say the numbers in the job";
}

TEST(JobCommunicators, BetweenTwoGroupsPeersAreOfTheOtherGroup) {
  CommTrace made(4);
  made.world();
  const CommunicatorId even = made.communicator(0, 9, 0, 2, "0,2", "between");
  made.communicator(2, 9, 1, 2, "0,2", "between");
  const CommunicatorId odd = made.communicator(1, 9, 0, 2, "1,3", "between");
  made.communicator(3, 9, 1, 2, "1,3", "between");
  JobCommunicators job(made.trace);
  EXPECT_EQ(job.all.size(), 3u);
  EXPECT_EQ(job.members.size(), 8u) << "equal ranks of the two groups are different members";
  EXPECT_EQ(job.ranks()[job.whoIs(job.members[job.memberOf(even)].communicator, 1)].label, "3");
  EXPECT_EQ(job.ranks()[job.whoIs(job.members[job.memberOf(odd)].communicator, 1)].label, "2");
}

TEST(JobCommunicators, AProcessOfSeveralGpusIsSeveralRanks) {
  CommTrace made(1);
  for (int64_t rank = 0; rank < 4; ++rank) made.communicator(0, 7, rank, 4, "", "", "NCCL");
  const JobCommunicators job(made.trace);
  ASSERT_EQ(job.members.size(), 4u);
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(job.labelOf(job.members[i]), std::to_string(i));
}

TEST(JobCommunicators, DamagedRowsAreNobody) {
  CommTrace made(1);
  made.communicator(77, 7, 0, 2);
  made.communicator(0, 7, -5, 2);
  made.communicator(0, 7, INT64_MAX, 2);
  JobCommunicators job(made.trace);
  EXPECT_EQ(job.members.size(), 3u);
  EXPECT_EQ(job.whoIs(99, 0), JobCommunicators::kNone);
  EXPECT_EQ(job.memberAt(99, 0), JobCommunicators::kNone);
  EXPECT_EQ(job.members[job.memberAt(0, INT64_MAX)].rank, INT64_MAX);
}

}  // namespace
}  // namespace tracesmith
