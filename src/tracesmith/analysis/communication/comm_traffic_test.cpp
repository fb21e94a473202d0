// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/comm_traffic.hpp"

#include <gtest/gtest.h>

#include "tracesmith/analysis/communication/comm_trace_test_util.hpp"

namespace tracesmith {
namespace {

using test::CommTrace;

struct Counted {
  explicit Counted(const CommTrace& made)
      : job(made.trace),
        traffic(commTraffic(made.trace, commOperations(made.trace, job, made.deviceOps()), job)) {}

  /// Bytes from one rank to another.
  uint64_t bytes(std::string_view from, std::string_view to) const {
    uint64_t sum = 0;
    for (const PairTraffic& pair : traffic.pairs) {
      if (job.ranks()[pair.from].label == from && job.ranks()[pair.to].label == to) {
        sum += pair.bytes();
      }
    }
    return sum;
  }

  JobCommunicators job;
  CommTraffic traffic;
};

TEST(CommTraffic, MessagesCountOnceByTheirSender) {
  CommTrace made(2);
  const auto world = made.world();
  for (int i = 0; i < 3; ++i) {
    made.message(0, world[0], true, 1, 100, 5, 10);
    made.message(1, world[1], false, 0, 100, 5, 10);
  }
  const Counted counted(made);
  ASSERT_EQ(counted.traffic.pairs.size(), 1u);
  EXPECT_EQ(counted.traffic.pairs[0].messages, 3u);
  EXPECT_EQ(counted.bytes("0", "1"), 30u);
}

TEST(CommTraffic, ThoseFromRanksThatAreNotInTheTraceByTheirReceiver) {
  CommTrace made(1);
  const CommunicatorId id = made.communicator(0, 7, 0, 4, "0-3");
  made.message(0, id, false, 3, 100, 5, 10);
  made.message(0, id, false, -2, 100, 5, 10);
  made.message(0, id, true, -1, 100, 5, 10);
  const Counted counted(made);
  EXPECT_EQ(counted.bytes("3", "0"), 10u);
  EXPECT_EQ(counted.traffic.pairs.size(), 1u);
  EXPECT_EQ(counted.traffic.of_unknown_senders, 1u);
}

TEST(CommTraffic, OfCollectivesOnlyWhatTheyDefine) {
  CommTrace made(4);
  const auto world = made.world();
  for (uint32_t rank = 0; rank < 4; ++rank) {
    made.collective(rank, world[rank], "MPI_Alltoall", 1, 100, 5, 400);
    made.collective(rank, world[rank], "MPI_Alltoallv", 1, 200, 5, 400);
    made.collective(rank, world[rank], "MPI_Allreduce", 1, 300, 5, 400);
    made.collective(rank, world[rank], "MPI_Barrier", 1, 400, 5);
    CommRow& row = made.call(rank, world[rank], "MPI_Gather", CommKind::kCollective, 500, 5);
    row.peer = 2;
    row.send_bytes = 7;
    made.add();
  }
  const Counted counted(made);
  EXPECT_EQ(counted.bytes("0", "1"), 100u);
  EXPECT_EQ(counted.bytes("0", "2"), 107u);
  EXPECT_EQ(counted.bytes("0", "0"), 0u);
  EXPECT_EQ(counted.traffic.left_out_collectives, 8u);
}

TEST(CommTraffic, AMillionRanksAreNotListed) {
  CommTrace made(5);
  for (uint32_t rank = 0; rank < 5; ++rank) {
    const CommunicatorId id = made.communicator(rank, 7, rank, 1'000'000, "0-999999");
    made.collective(rank, id, "MPI_Alltoall", 1, 100, 5, 8'000'000);
  }
  const Counted counted(made);
  EXPECT_EQ(counted.traffic.too_many_pairs, 5u);
  EXPECT_TRUE(counted.traffic.pairs.empty());
}

}  // namespace
}  // namespace tracesmith
