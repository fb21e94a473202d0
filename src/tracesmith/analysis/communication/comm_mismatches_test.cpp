// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/comm_mismatches.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tracesmith/analysis/communication/comm_trace_test_util.hpp"

namespace tracesmith {
namespace {

using test::CommTrace;
using ::testing::HasSubstr;

std::vector<CommMismatch> mismatchesOf(const CommTrace& made) {
  const JobCommunicators job(made.trace);
  const auto operations = commOperations(made.trace, job, made.deviceOps());
  return collectiveMismatches(made.trace, operations, job,
                              collectiveSets(made.trace, operations, job));
}

/// The only one, which must be of this kind.
CommMismatch onlyOf(const CommTrace& made, CommMismatchKind kind) {
  const auto all = mismatchesOf(made);
  EXPECT_EQ(all.size(), 1u);
  if (all.empty()) return {};
  EXPECT_EQ(toString(all[0].kind), toString(kind)) << all[0].example;
  return all[0];
}

TEST(CommMismatches, NoneWhereAllFits) {
  CommTrace made(3);
  const auto world = made.world();
  for (uint32_t rank = 0; rank < 3; ++rank) {
    made.collective(rank, world[rank], "MPI_Allreduce", 1, 100, 10, 800);
    made.collective(rank, world[rank], "MPI_Barrier", 1, 200, 10);
    CommRow& row = made.call(rank, world[rank], "MPI_Gather", CommKind::kCollective, 300, 10);
    row.sequence = 1;
    row.peer = 1;
    row.send_bytes = 8;
    row.receive_bytes = rank == 1 ? 24 : 0;
    made.add();
    CommRow& parts = made.call(rank, world[rank], "MPI_Alltoallv", CommKind::kCollective, 400, 10);
    parts.sequence = 1;
    parts.send_bytes = 100 * rank;
    made.add();
  }
  for (const CommMismatch& each : mismatchesOf(made)) ADD_FAILURE() << each.example;
}

TEST(CommMismatches, SizesRootsTypesAndReductions) {
  CommTrace made(3);
  const auto world = made.world("NCCL");
  for (uint32_t rank = 0; rank < 3; ++rank) {
    CommRow& row = made.call(rank, world[rank], "ncclReduce", CommKind::kCollective, 100, 10);
    row.send_bytes = rank == 2 ? 400 : 800;
    row.peer = rank == 1 ? 1 : 0;
    row.data_type = made.text(rank == 2 ? "float16" : "float32");
    row.reduction = made.text(rank == 0 ? "sum" : "max");
    made.add();
  }
  std::map<CommMismatchKind, std::string> found;
  for (const CommMismatch& each : mismatchesOf(made)) found[each.kind] = each.example;
  EXPECT_EQ(found.size(), 4u);
  EXPECT_EQ(found[CommMismatchKind::kSize], "rank 0: 800 bytes, rank 2: 400 bytes");
  EXPECT_EQ(found[CommMismatchKind::kRoot], "rank 0: root 0, rank 1: root 1");
  EXPECT_EQ(found[CommMismatchKind::kDataType], "rank 0: float32, rank 2: float16");
  EXPECT_EQ(found[CommMismatchKind::kReduction], "rank 0: sum, rank 1: max");
}

TEST(CommMismatches, OtherOrders) {
  CommTrace made(2);
  const auto world = made.world("NCCL");
  made.collective(0, world[0], "ncclAllReduce", 1, 100, 10, 8);
  made.collective(0, world[0], "ncclBroadcast", 1, 200, 10, 8);
  made.collective(1, world[1], "ncclBroadcast", 1, 100, 10, 8);
  made.collective(1, world[1], "ncclAllReduce", 1, 200, 10, 8);
  const CommMismatch swapped = onlyOf(made, CommMismatchKind::kOrder);
  EXPECT_THAT(swapped.example, HasSubstr("called ncclBroadcast #1 before ncclAllReduce #1"));
}

TEST(CommMismatches, AnotherCallAtTheSamePlace) {
  CommTrace made(2);
  const auto world = made.world("NCCL");
  for (uint32_t rank = 0; rank < 2; ++rank) {
    made.collective(rank, world[rank], "ncclAllReduce", 1, 100, 10, 8);
    made.collective(rank, world[rank], rank == 0 ? "ncclAllGather" : "ncclBroadcast", 1, 200, 10,
                    8);
  }
  EXPECT_THAT(onlyOf(made, CommMismatchKind::kOrder).example,
              HasSubstr("after ncclAllReduce #1 rank 1 called ncclBroadcast #1, rank 0 called "
                        "ncclAllGather #1"));
}

TEST(CommMismatches, CallsThatAreMissing) {
  CommTrace made(2);
  const auto world = made.world();
  for (const uint64_t number : {1, 2, 3, 4, 5, 6}) {
    made.collective(0, world[0], "MPI_Barrier", number, static_cast<int64_t>(number) * 100, 10);
    if (number == 2 || number == 5) {
      made.collective(1, world[1], "MPI_Barrier", number, static_cast<int64_t>(number) * 100, 10);
    }
  }
  std::map<CommMismatchKind, CommMismatch> found;
  for (const CommMismatch& each : mismatchesOf(made)) found[each.kind] = each;
  EXPECT_EQ(found.size(), 3u);
  EXPECT_EQ(found[CommMismatchKind::kLaterStart].count, 1u);
  EXPECT_EQ(found[CommMismatchKind::kMissing].count, 2u);
  EXPECT_EQ(found[CommMismatchKind::kMissing].sequence, 3u);
  EXPECT_EQ(found[CommMismatchKind::kMissingEnd].count, 1u);
  EXPECT_EQ(found[CommMismatchKind::kMissingEnd].sequence, 6u);
}

TEST(CommMismatches, NumbersThatStartAgainStillMatch) {
  CommTrace made(2);
  const auto world = made.world("NCCL");
  // As of a counter of 32 bits that overflows, and then one that is reset.
  const uint64_t numbers[] = {4'294'967'294, 4'294'967'295, 1, 2, 1, 2};
  for (uint32_t rank = 0; rank < 2; ++rank) {
    int64_t start = 100;
    for (const uint64_t number : numbers) {
      made.collective(rank, world[rank], "ncclAllReduce", number, start + rank, 10, 8);
      start += 100;
    }
  }
  const JobCommunicators job(made.trace);
  const auto operations = commOperations(made.trace, job, made.deviceOps());
  const CollectiveSets sets = collectiveSets(made.trace, operations, job);
  ASSERT_EQ(sets.sets.size(), 6u);
  for (const CollectiveSet& set : sets.sets) {
    ASSERT_EQ(set.count, 2u);
    EXPECT_EQ(operations[sets.of(set)[1].operation].begin_ns -
                  operations[sets.of(set)[0].operation].begin_ns,
              1)
        << "those of one time";
  }
  const CommMismatch restarted = onlyOf(made, CommMismatchKind::kRestarted);
  EXPECT_EQ(restarted.count, 4u) << "two for each rank";
  EXPECT_THAT(restarted.example, HasSubstr("after 4294967295 comes 1"));
}

TEST(CommMismatches, WithoutNumbersTheOrderOfTheCallsCounts) {
  for (const uint64_t number : {0, 7}) {
    CommTrace made(2);
    const auto world = made.world("NCCL");
    for (uint32_t rank = 0; rank < 2; ++rank) {
      for (const int64_t start : {100, 200, 300}) {
        made.collective(rank, world[rank], "ncclAllReduce", number, start, 10,
                        start == 300 ? 8 + 8 * rank : 8);
      }
    }
    std::map<CommMismatchKind, CommMismatch> found;
    for (const CommMismatch& each : mismatchesOf(made)) found[each.kind] = each;
    EXPECT_EQ(found[CommMismatchKind::kSize].count, 1u);
    EXPECT_EQ(found[CommMismatchKind::kRepeated].count, number == 0 ? 0u : 4u);
    EXPECT_EQ(found.size(), 2u) << "and no other";
  }
}

TEST(CommMismatches, CopyEnginesNumberTheirCollectivesApart) {
  CommTrace made(2);
  const auto world = made.world("NCCL");
  for (uint32_t rank = 0; rank < 2; ++rank) {
    const auto call = [&](int64_t start, uint64_t sequence, std::string_view algorithm) {
      CommRow& row =
          made.call(rank, world[rank], "ncclAllGather", CommKind::kCollective, start, 10);
      row.sequence = sequence;
      row.algorithm = made.text(algorithm);
      made.add();
    };
    call(100, 1, "RING");
    call(200, 1, "CE");
    call(300, 2, "RING");
  }
  EXPECT_THAT(mismatchesOf(made), testing::IsEmpty());
}

TEST(CommMismatches, CommunicatorsOfWhichOneRankIsSeen) {
  CommTrace made(2);
  made.world();
  made.communicator(0, 99, 0, 4, "0,1,2,3", "quarter");
  EXPECT_EQ(onlyOf(made, CommMismatchKind::kOneSided).example,
            "of its 4 ranks only rank 0 is in the trace");
}

TEST(CommMismatches, ATraceOfOneRankHasNone) {
  CommTrace made(1);
  const CommunicatorId id = made.communicator(0, 7, 0, 1'000'000, "0-999999");
  for (uint64_t i = 1; i < 100; ++i) made.collective(0, id, "MPI_Barrier", i, 100, 10);
  EXPECT_TRUE(mismatchesOf(made).empty());
}

}  // namespace
}  // namespace tracesmith
