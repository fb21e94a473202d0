// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/comm_arrivals.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tracesmith/analysis/communication/comm_trace_test_util.hpp"

namespace tracesmith {
namespace {

using test::CommTrace;

struct Arrived {
  explicit Arrived(const CommTrace& made)
      : job(made.trace),
        operations(commOperations(made.trace, job, made.deviceOps())),
        sets(collectiveSets(made.trace, operations, job)),
        arrivals(commArrivals(made.trace, operations, job, sets)) {}

  std::string lastOf(size_t i) const {
    const uint32_t last = arrivals.collectives[i].last;
    return last == CommOperation::kNone ? "none"
                                        : job.labelOf(job.members[sets.calls[last].member]);
  }
  const RankArrivals& rank(std::string_view label) const {
    for (const RankArrivals& each : arrivals.ranks) {
      if (job.labelOf(job.members[each.member]) == label) return each;
    }
    ADD_FAILURE() << "no rank " << label;
    return arrivals.ranks.front();
  }

  JobCommunicators job;
  std::vector<CommOperation> operations;
  CollectiveSets sets;
  CommArrivals arrivals;
};

TEST(CommArrivals, TheLastRankAndTheWaitsOfTheOthers) {
  CommTrace made(3);
  const auto world = made.world();
  const int64_t starts[] = {100, 130, 190};
  for (uint32_t rank = 0; rank < 3; ++rank) {
    made.collective(rank, world[rank], "MPI_Barrier", 1, starts[rank], 200 - starts[rank]);
  }
  const Arrived arrived(made);
  ASSERT_EQ(arrived.arrivals.collectives.size(), 1u);
  const CollectiveArrival& only = arrived.arrivals.collectives[0];
  EXPECT_EQ(only.spread_ns, 90);
  EXPECT_EQ(only.apart_ns, 0u);
  EXPECT_EQ(arrived.lastOf(0), "2");
  EXPECT_EQ(only.waited_ns, 90 + 60);
  EXPECT_EQ(arrived.rank("2").times_last, 1u);
  EXPECT_EQ(arrived.rank("2").late_ns, 60) << "after the one before it";
  EXPECT_EQ(arrived.rank("2").caused_ns, 150);
  EXPECT_EQ(arrived.rank("0").waited_ns, 90);
  const FunctionArrivals& function = arrived.arrivals.functions.at(0);
  EXPECT_EQ(function.whole, 1u);
  EXPECT_EQ(function.compared, 1u);
}

TEST(CommArrivals, AreToldOnlyAsFarAsTheClocksTell) {
  for (const uint64_t error : {20u, 45u}) {
    CommTrace made(3);
    const auto world = made.world();
    const int64_t starts[] = {100, 140, 190};
    for (uint32_t rank = 0; rank < 3; ++rank) {
      made.collective(rank, world[rank], "MPI_Barrier", 1, starts[rank], 500);
    }
    made.merge({0, error, 5});
    const Arrived arrived(made);
    const CollectiveArrival& only = arrived.arrivals.collectives[0];
    EXPECT_EQ(only.apart_ns, 5u) << "of the first and the last";
    EXPECT_TRUE(only.isResolved());
    // Rank 1 comes 50 before the last; the two clocks are off by error + 5 together.
    EXPECT_EQ(arrived.lastOf(0), error == 20 ? "2" : "none");
    EXPECT_EQ(only.waited_ns, error == 20 ? 90 + 50 : 90);
  }
}

TEST(CommArrivals, EqualTimesHaveNoLastRank) {
  CommTrace made(2);
  const auto world = made.world();
  for (uint32_t rank = 0; rank < 2; ++rank) {
    made.collective(rank, world[rank], "MPI_Barrier", 1, 100, 50);
  }
  const Arrived arrived(made);
  EXPECT_EQ(arrived.lastOf(0), "none");
  EXPECT_FALSE(arrived.arrivals.collectives[0].isResolved());
}

TEST(CommArrivals, ClocksThatWereNotComparedTellNothing) {
  CommTrace made(2);
  const auto world = made.world();
  made.collective(0, world[0], "MPI_Barrier", 1, 100, 50);
  made.collective(1, world[1], "MPI_Barrier", 1, 9'000'000, 50);
  made.merge({0, 0}, false);
  const Arrived arrived(made);
  EXPECT_FALSE(arrived.arrivals.are_comparable);
  EXPECT_TRUE(arrived.arrivals.collectives.empty());
  EXPECT_EQ(arrived.arrivals.functions.at(0).whole, 1u) << "they still match";
}

TEST(CommArrivals, OnADeviceTheKernelArrives) {
  CommTrace made(2);
  const auto world = made.world("NCCL");
  for (uint32_t rank = 0; rank < 2; ++rank) {
    CommRow& row = made.call(rank, world[rank], "ncclAllReduce", CommKind::kCollective,
                             rank == 0 ? 100 : 50, 1);
    row.sequence = 4;
    const uint64_t id = made.add();
    made.work(rank, id, rank == 0 ? 200 : 700, rank == 0 ? 600 : 100);
  }
  const Arrived arrived(made);
  EXPECT_EQ(arrived.arrivals.collectives[0].spread_ns, 500);
  EXPECT_EQ(arrived.lastOf(0), "1") << "although it was enqueued first";
}

TEST(CommArrivals, RootsAreWaitedForByOthersOnly) {
  CommTrace made(3);
  const auto world = made.world();
  const int64_t starts[] = {100, 150, 190};
  for (const char* function : {"MPI_Bcast", "MPI_Reduce"}) {
    for (uint32_t rank = 0; rank < 3; ++rank) {
      CommRow& row =
          made.call(rank, world[rank], function, CommKind::kCollective, starts[rank], 200);
      row.peer = 1;
      row.sequence = 1;
      row.send_bytes = 8;
      made.add();
    }
  }
  const Arrived arrived(made);
  std::map<std::string, int64_t> waited;
  for (const FunctionArrivals& each : arrived.arrivals.functions) {
    waited[std::string(made.trace.text(each.function))] = each.waited_ns;
  }
  EXPECT_EQ(waited["MPI_Bcast"], 50) << "rank 0 for the root";
  EXPECT_EQ(waited["MPI_Reduce"], 40) << "the root for rank 2";
}

/// Against counting pairs: spread and last rank of collectives at random times.
TEST(CommArrivals, AreThoseOfComparingAllPairs) {
  std::mt19937 chance(3);
  CommTrace made(5);
  const auto world = made.world();
  std::vector<std::vector<int64_t>> starts(50, std::vector<int64_t>(5));
  for (size_t i = 0; i < starts.size(); ++i) {
    for (uint32_t rank = 0; rank < 5; ++rank) {
      starts[i][rank] = static_cast<int64_t>(i * 1'000 + chance() % 500);
      made.collective(rank, world[rank], "MPI_Allreduce", i + 1, starts[i][rank], 600);
    }
  }
  const Arrived arrived(made);
  ASSERT_EQ(arrived.arrivals.collectives.size(), starts.size());
  for (size_t i = 0; i < starts.size(); ++i) {
    int64_t spread = 0, waited = 0;
    for (const int64_t a : starts[i]) {
      int64_t longest = 0;
      for (const int64_t b : starts[i]) {
        spread = std::max(spread, b - a);
        longest = std::max(longest, b - a);
      }
      waited += longest;
    }
    EXPECT_EQ(arrived.arrivals.collectives[i].spread_ns, spread);
    EXPECT_EQ(arrived.arrivals.collectives[i].waited_ns, waited);
  }
}

}  // namespace
}  // namespace tracesmith
