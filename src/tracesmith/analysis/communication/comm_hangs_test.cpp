// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/comm_hangs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tracesmith/analysis/communication/comm_trace_test_util.hpp"

namespace tracesmith {
namespace {

using test::CommTrace;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Hanging {
  explicit Hanging(const CommTrace& made)
      : job(made.trace),
        operations(commOperations(made.trace, job, made.deviceOps())),
        found(commHangs(made.trace, operations, job, collectiveSets(made.trace, operations, job))) {
  }

  std::vector<std::string> labels(const std::vector<uint32_t>& ranks) const {
    std::vector<std::string> texts;
    for (const uint32_t who : ranks) texts.push_back(job.ranks()[who].label);
    return texts;
  }

  JobCommunicators job;
  std::vector<CommOperation> operations;
  CommHangs found;
};

TEST(CommHangs, ARankThatNeverCame) {
  CommTrace made(3);
  const auto world = made.world("NCCL");
  for (uint32_t rank = 0; rank < 3; ++rank) {
    for (uint64_t number = 0; number < 4; ++number) {
      const auto start = static_cast<int64_t>(100 * number + rank);
      if (rank == 1 && number > 1) continue;
      CommRow& row = made.call(rank, world[rank], "ncclAllReduce", CommKind::kCollective, start, 5);
      row.sequence = number;
      const uint64_t id = made.add();
      if (number < 2) made.work(rank, id, start + 10, 20);
    }
  }
  const Hanging hanging(made);
  ASSERT_EQ(hanging.found.hangs.size(), 1u);
  const CommHang& hang = hanging.found.hangs[0];
  EXPECT_EQ(made.trace.text(hang.function), "ncclAllReduce");
  EXPECT_EQ(hang.sequence, 2u) << "the first of those";
  EXPECT_EQ(hang.since_ns, 200);
  EXPECT_THAT(hanging.labels(hang.waiting), ElementsAre("0", "2"));
  EXPECT_THAT(hanging.labels(hang.missing), ElementsAre("1"));
  const LastOperation& last = hanging.found.last[hang.missing[0]];
  EXPECT_EQ(made.trace.comm.sequence[last.row], 1u);
  EXPECT_EQ(last.end_ns, 106);
}

TEST(CommHangs, AllCameAndItDidNotEnd) {
  CommTrace made(2);
  const auto world = made.world("NCCL");
  for (uint32_t rank = 0; rank < 2; ++rank) {
    CommRow& row = made.call(rank, world[rank], "ncclAllGather", CommKind::kCollective, 100, 5);
    row.sequence = 9;
    row.state = rank == 0 ? CommState::kStarted : CommState::kScheduled;
    made.add();
  }
  const Hanging hanging(made);
  ASSERT_EQ(hanging.found.hangs.size(), 1u);
  EXPECT_THAT(hanging.found.hangs[0].missing, IsEmpty());
  EXPECT_THAT(hanging.labels(hanging.found.hangs[0].waiting), ElementsAre("0", "1"));
}

/// A rank that made fewer calls is only certain to be missing if others are known to wait.
TEST(CommHangs, WithoutWordOfTheEndItIsNotCertain) {
  for (const CommState state : {CommState::kUnknown, CommState::kScheduled}) {
    CommTrace made(2);
    const auto world = made.world("NCCL");
    for (uint32_t rank = 0; rank < 2; ++rank) {
      for (uint64_t number = 1; number + rank < 5; ++number) {
        CommRow& row = made.call(rank, world[rank], "ncclAllReduce", CommKind::kCollective,
                                 static_cast<int64_t>(100 * number), 5);
        row.sequence = number;
        if (number == 4) row.state = state;
        made.add();
      }
    }
    const Hanging hanging(made);
    ASSERT_EQ(hanging.found.hangs.size(), 1u);
    EXPECT_EQ(hanging.found.hangs[0].sequence, 4u);
    EXPECT_THAT(hanging.labels(hanging.found.hangs[0].missing), ElementsAre("1"));
    EXPECT_EQ(hanging.found.hangs[0].is_certain, state == CommState::kScheduled);
  }
}

/// NCCL has no operation for kernels that use symmetric memory, only the call.
TEST(CommHangs, CallsWithoutNumbersAmongOthersAreNone) {
  CommTrace made(2);
  const auto world = made.world("NCCL");
  for (uint32_t rank = 0; rank < 2; ++rank) {
    for (uint64_t i = 0; i < 6; ++i) {
      const auto start = static_cast<int64_t>(100 * i);
      CommRow& row = made.call(rank, world[rank], "ncclAllReduce", CommKind::kCollective, start, 5);
      row.sequence = i % 2 == 0 ? i / 2 + 1 : 0;
      row.channels = i % 2 == 0 ? 1 : 0;
      if (i == 5 && rank == 1) continue;
      const uint64_t id = made.add();
      if (i % 2 == 0) made.work(rank, id, start + 10, 20);
      if (i % 2 == 0) made.trace.comm_work.channels.back() = 1;
    }
  }
  EXPECT_THAT(Hanging(made).found.hangs, IsEmpty());
}

TEST(CommHangs, ARankThatASnapshotDidNotHearOfIsAbsent) {
  CommTrace made(3);
  const auto world = made.world("NCCL");
  for (uint32_t rank = 0; rank < 2; ++rank) {
    CommRow& row = made.call(rank, world[rank], "ncclAllReduce", CommKind::kCollective, 0, 0);
    row.sequence = 10 - rank;
    row.state = rank == 0 ? CommState::kScheduled : CommState::kUnknown;
    made.add();
  }
  made.trace.attribute.push({.table = static_cast<uint32_t>(TableId::kCommunicator),
                             .row_number = 2,
                             .key = made.text("answered"),
                             .value = made.text("false")});
  const Hanging hanging(made);
  ASSERT_EQ(hanging.found.hangs.size(), 1u);
  EXPECT_THAT(hanging.labels(hanging.found.hangs[0].missing), ElementsAre("1"));
  EXPECT_EQ(hanging.found.hangs[0].absent, 1u);

  CommTrace equal = made;
  equal.trace.comm.sequence[1] = 10;
  equal.trace.comm.state[0] = CommState::kUnknown;
  EXPECT_THAT(Hanging(equal).found.hangs, IsEmpty());
}

TEST(CommHangs, CallsThatDidNotReturnAreThoseThatLossCounts) {
  CommTrace made(3);
  const auto world = made.world();
  const CallPathId path = idAt<CallPathId>(0);
  made.trace.call_path.push({});
  for (uint32_t rank = 0; rank < 3; ++rank) {
    CommRow& row = made.call(rank, world[rank], "MPI_Barrier", CommKind::kCollective, 100, 50);
    row.sequence = 1;
    const uint64_t id = made.add();
    made.trace.host_call.push({.start_ns = 100,
                               .duration_ns = 50,
                               .process_id = idAt<ProcessId>(rank),
                               .correlation_id = id,
                               .call_path_id = rank == 2 ? path : CallPathId::kNone});
    made.trace.loss.push({.id = idAt<LossId>(rank),
                          .source = made.text("MPI calls"),
                          .process_id = idAt<ProcessId>(rank),
                          .emitted = rank == 2 ? 1u : 2u,
                          .written = 1,
                          .dropped = rank == 2 ? 0u : 1u});
  }
  const Hanging hanging(made);
  ASSERT_EQ(hanging.found.hangs.size(), 1u);
  const CommHang& hang = hanging.found.hangs[0];
  EXPECT_EQ(hang.function, StringId::kNone);
  EXPECT_THAT(hanging.labels(hang.waiting), ElementsAre("0", "1"));
  EXPECT_THAT(hanging.labels(hang.missing), ElementsAre("2"));
  ASSERT_NE(hang.after, CommOperation::kNone);
  EXPECT_EQ(made.trace.text(hanging.operations[hang.after].function), "MPI_Barrier");
  EXPECT_EQ(hanging.found.last[hang.missing[0]].call_path_id, path);

  // A rank that has ended as it should is not missing.
  CommTrace ended = made;
  ended.call(2, CommunicatorId{}, "MPI_Finalize", CommKind::kSetup, 200, 5);
  ended.add();
  EXPECT_THAT(Hanging(ended).found.hangs.at(0).missing, IsEmpty());

  // More than a thread can be in: they were lost.
  CommTrace lost = made;
  for (uint64_t& dropped : lost.trace.loss.dropped) dropped = dropped == 0 ? 0 : 50;
  EXPECT_THAT(Hanging(lost).found.hangs, IsEmpty());
}

TEST(CommHangs, WorkWithoutTimesBeforeWorkThatCompletedIsNone) {
  for (const bool is_captured : {false, true}) {
    CommTrace made(2);
    const auto world = made.world("NCCL");
    for (uint32_t rank = 0; rank < 2; ++rank) {
      for (uint64_t number = 0; number < 3; ++number) {
        const auto start = static_cast<int64_t>(100 * number);
        CommRow& row =
            made.call(rank, world[rank], "ncclAllReduce", CommKind::kCollective, start, 5);
        row.sequence = number;
        // The last ones go into a graph, or the one in the middle lacks its times.
        row.is_captured = is_captured && number > 0 ? 1 : 0;
        const uint64_t id = made.add();
        if (number == 0 || (number == 2 && !is_captured)) made.work(rank, id, start + 10, 20);
      }
    }
    EXPECT_THAT(Hanging(made).found.hangs, IsEmpty());
  }
}

TEST(CommHangs, WhatOthersCompletedIsNone) {
  CommTrace made(2);
  const auto world = made.world();
  for (uint64_t number = 1; number < 5; ++number) {
    made.collective(0, world[0], "MPI_Barrier", number, static_cast<int64_t>(number) * 100, 10);
    if (number < 3) {
      made.collective(1, world[1], "MPI_Barrier", number, static_cast<int64_t>(number) * 100, 10);
    }
  }
  EXPECT_THAT(Hanging(made).found.hangs, IsEmpty()) << "the rows of rank 1 are missing, not it";
}

TEST(CommHangs, WhatOneRankCompletedAllCameTo) {
  CommTrace made(3);
  const auto world = made.world("NCCL");
  // Rank 0 has times of its work, rank 1 is of a source without any, the rows of rank 2 are
  // missing.
  made.collective(0, world[0], "ncclAllReduce", 0, 100, 5);
  made.work(0, made.trace.comm.correlation_id.back(), 110, 20);
  made.collective(1, world[1], "ncclAllReduce", 0, 100, 5);
  EXPECT_THAT(Hanging(made).found.hangs, IsEmpty());
  made.collective(1, world[1], "ncclAllReduce", 1, 200, 5);
  EXPECT_EQ(Hanging(made).found.hangs.size(), 1u) << "nobody completed this one";
}

TEST(CommHangs, RanksThatAreNotInTheTraceAreCounted) {
  CommTrace made(2);
  std::vector<CommunicatorId> ids;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    ids.push_back(made.communicator(rank, 7, rank, 1'000'000, "", "huge", "NCCL"));
  }
  made.collective(0, ids[0], "ncclAllReduce", 0, 100, 5);
  made.collective(1, ids[1], "ncclAllReduce", 0, 100, 5);
  made.collective(1, ids[1], "ncclAllReduce", 1, 200, 5);
  const Hanging hanging(made);
  ASSERT_EQ(hanging.found.hangs.size(), 1u);
  EXPECT_EQ(hanging.found.hangs[0].absent, 999'998u);
  EXPECT_THAT(hanging.labels(hanging.found.hangs[0].missing), ElementsAre("0"));
}

}  // namespace
}  // namespace tracesmith
