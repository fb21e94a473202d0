// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cluster/comm_analysis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace tracesmith {
namespace {

using ::testing::HasSubstr;
using Pattern = CommAnalysis::CommPattern;

NCCLOperation message(uint32_t from, uint32_t to, uint64_t bytes, uint64_t start = 0,
                      uint64_t duration = 0) {
  NCCLOperation operation;
  operation.op_type = NCCLOpType::Send;
  operation.rank = from;
  operation.peer_rank = static_cast<int32_t>(to);
  operation.data_size = bytes;
  operation.start_time = start;
  operation.duration_ns = duration;
  operation.end_time = start + duration;
  return operation;
}

/// The pattern of messages between these pairs of n ranks.
Pattern patternOf(uint32_t ranks, const std::vector<std::pair<uint32_t, uint32_t>>& pairs) {
  CommAnalysis analysis;
  for (const auto& [from, to] : pairs) {
    NCCLOperation operation = message(from, to, 100);
    operation.world_size = ranks;
    analysis.addOperation(operation);
  }
  return analysis.detectPattern();
}

TEST(CommPattern, NothingAndTwoRanks) {
  EXPECT_EQ(patternOf(4, {}), Pattern::Unknown);
  EXPECT_EQ(patternOf(4, {{2, 2}}), Pattern::Unknown) << "to itself";
  EXPECT_EQ(patternOf(2, {{0, 1}}), Pattern::PointToPoint);
  EXPECT_EQ(patternOf(2, {{0, 1}, {1, 0}}), Pattern::PointToPoint);
  EXPECT_EQ(patternOf(8, {{3, 5}}), Pattern::PointToPoint);
}

TEST(CommPattern, AllToAllAndWhatLacksOnePair) {
  for (uint32_t ranks : {3u, 4u, 8u}) {
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    for (uint32_t a = 0; a < ranks; ++a) {
      for (uint32_t b = 0; b < ranks; ++b) {
        if (a != b) pairs.emplace_back(a, b);
      }
    }
    EXPECT_EQ(patternOf(ranks, pairs), Pattern::AllToAll) << ranks;
    if (ranks < 4) continue;
    pairs.pop_back();
    EXPECT_EQ(patternOf(ranks, pairs), Pattern::Custom) << ranks;
  }
}

TEST(CommPattern, RingsInAnyOrder) {
  EXPECT_EQ(patternOf(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}}), Pattern::Ring);
  EXPECT_EQ(patternOf(5, {{0, 3}, {3, 1}, {1, 4}, {4, 2}, {2, 0}}), Pattern::Ring);
  EXPECT_EQ(patternOf(3, {{0, 1}, {1, 2}, {2, 0}}), Pattern::Ring);
  std::vector<std::pair<uint32_t, uint32_t>> both;
  for (uint32_t i = 0; i < 6; ++i) {
    both.emplace_back(i, (i + 1) % 6);
    both.emplace_back((i + 1) % 6, i);
  }
  EXPECT_EQ(patternOf(6, both), Pattern::Ring);
  EXPECT_EQ(patternOf(6, {{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5}, {5, 3}}), Pattern::Custom)
      << "two circles are no ring";
  EXPECT_EQ(patternOf(4, {{0, 1}, {1, 2}, {2, 3}, {0, 3}}), Pattern::Custom)
      << "a circle that is not one way";
  EXPECT_EQ(patternOf(4, {{0, 1}, {1, 2}, {2, 0}}), Pattern::Custom) << "one rank is not in it";
}

TEST(CommPattern, TreesBroadcastsAndChains) {
  const std::vector<std::pair<uint32_t, uint32_t>> down = {{0, 1}, {0, 2}, {1, 3},
                                                           {1, 4}, {2, 5}, {2, 6}};
  EXPECT_EQ(patternOf(7, down), Pattern::Tree);
  auto both = down;
  for (const auto& [from, to] : down) both.emplace_back(to, from);
  EXPECT_EQ(patternOf(7, both), Pattern::Tree) << "reduced upwards as well";
  EXPECT_EQ(patternOf(5, {{2, 0}, {2, 1}, {2, 3}, {2, 4}}), Pattern::Broadcast);
  EXPECT_EQ(patternOf(5, {{2, 0}, {2, 1}, {2, 3}}), Pattern::Tree) << "not to all";
  EXPECT_EQ(patternOf(5, {{0, 2}, {1, 2}, {3, 2}, {4, 2}}), Pattern::Tree) << "all to one";
  EXPECT_EQ(patternOf(3, {{0, 2}, {1, 2}}), Pattern::Tree);
  EXPECT_EQ(patternOf(4, {{0, 1}, {1, 2}, {2, 3}}), Pattern::PointToPoint) << "a pipeline";
  EXPECT_EQ(patternOf(4, {{0, 1}, {2, 3}}), Pattern::PointToPoint);
}

TEST(CommPattern, Butterflies) {
  for (uint32_t ranks : {4u, 8u, 16u}) {
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      for (uint32_t bit = 1; bit < ranks; bit *= 2) pairs.emplace_back(rank, rank ^ bit);
    }
    EXPECT_EQ(patternOf(ranks, pairs), Pattern::Butterfly) << ranks;
  }
  EXPECT_EQ(CommAnalysis::patternToString(Pattern::Butterfly), "Butterfly");
  EXPECT_EQ(CommAnalysis::patternToString(static_cast<Pattern>(99)), "Unknown");
}

TEST(CommAnalysis, TheMatrixHasEachMessageOnce) {
  CommAnalysis analysis;
  analysis.addOperations({message(0, 1, 100, 0, 10), message(0, 1, 50, 20, 30)});
  NCCLOperation received = message(1, 0, 100);
  received.op_type = NCCLOpType::Recv;
  analysis.addOperation(received);
  NCCLOperation of_unknown = received;  // whose sender added nothing
  of_unknown.peer_rank = 2;
  analysis.addOperation(of_unknown);
  const auto matrix = analysis.getCommMatrix();
  EXPECT_EQ(matrix.world_size, 3u);
  EXPECT_EQ(matrix.bytes[0][1], 150u);
  EXPECT_EQ(matrix.count[0][1], 2u);
  EXPECT_DOUBLE_EQ(matrix.avg_latency[0][1], 20);
  EXPECT_EQ(matrix.bytes[2][1], 100u);
  EXPECT_EQ(analysis.getTotalBytes(), 250u);
  EXPECT_EQ(analysis.getTotalOperations(), 4u);
  EXPECT_THAT(analysis.matrixToHeatmapJSON(),
              HasSubstr("\"bytes\": [[0, 150, 0], [0, 0, 0], [0, 100, 0]]"));
  EXPECT_EQ(analysis.matrixToASCII(),
            "       0      1      2\n"
            "0      -  150 B      -\n"
            "1      -      -      -\n"
            "2      -  100 B      -\n");
  analysis.clear();
  EXPECT_EQ(analysis.getWorldSize(), 0u);
  EXPECT_EQ(analysis.matrixToASCII(), "no operations\n");
}

TEST(CommAnalysis, OfCollectivesOnlyWhatTheyDefine) {
  CommAnalysis analysis;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    NCCLOperation operation;
    operation.op_type = NCCLOpType::AllToAll;
    operation.rank = rank;
    operation.world_size = 4;
    operation.data_size = 400;
    analysis.addOperation(operation);
    operation.op_type = NCCLOpType::AllReduce;
    analysis.addOperation(operation);
    operation.op_type = NCCLOpType::Broadcast;
    operation.peer_rank = 1;
    operation.data_size = 7;
    analysis.addOperation(operation);
  }
  const auto matrix = analysis.getCommMatrix();
  EXPECT_EQ(matrix.bytes[0][3], 100u);
  EXPECT_EQ(matrix.bytes[1][3], 107u);
  EXPECT_EQ(matrix.bytes[2][2], 0u);
  EXPECT_EQ(analysis.getTotalBytes(), 4u * (400 + 400 + 7));
  EXPECT_EQ(analysis.detectPattern(), Pattern::AllToAll);
}

TEST(CommAnalysis, ABottleneckIsBusy) {
  CommAnalysis analysis;
  analysis.addOperations({message(0, 1, 900, 0, 900), message(0, 1, 0, 100, 200),
                          message(2, 3, 9'000, 0, 100), message(3, 2, 9'000, 900, 100)});
  const auto found = analysis.findBottlenecks();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rank_a, 0u);
  EXPECT_EQ(found[0].rank_b, 1u);
  EXPECT_DOUBLE_EQ(found[0].utilization, 0.9) << "messages at the same time count once";
  EXPECT_EQ(found[0].reason,
            "busy for 90.0 % of the time, at 1.00 GB/s; the median of all pairs is 90.0 GB/s");
  EXPECT_EQ(analysis.findBottlenecks(0).size(), 3u);
  EXPECT_TRUE(CommAnalysis().findBottlenecks(0).empty());
}

TEST(CommAnalysis, LoadIsComparedByTimeElseByBytes) {
  CommAnalysis analysis;
  analysis.addOperations({message(0, 1, 100, 0, 30), message(1, 0, 100, 0, 10)});
  auto load = analysis.analyzeLoadBalance();
  ASSERT_EQ(load.size(), 2u);
  EXPECT_EQ(load[0].rank, 0u);
  EXPECT_DOUBLE_EQ(load[0].deviation, 0.5);
  EXPECT_DOUBLE_EQ(load[1].deviation, -0.5);
  EXPECT_EQ(load[0].total_time_ns, 30u);
  CommAnalysis untimed;
  untimed.addOperations({message(0, 1, 100), message(1, 0, 300)});
  EXPECT_DOUBLE_EQ(untimed.analyzeLoadBalance()[0].deviation, -0.5);
}

TEST(CommAnalysis, ManyRanksThatAreOnlyClaimedCostNothing) {
  CommAnalysis analysis;
  NCCLOperation operation;
  operation.op_type = NCCLOpType::AllToAll;
  operation.world_size = 4'000'000'000;
  operation.start_time = ~uint64_t{0};
  operation.duration_ns = ~uint64_t{0};
  analysis.addOperation(operation);
  EXPECT_EQ(analysis.getWorldSize(), 4'000'000'000u);
  EXPECT_TRUE(analysis.getCommMatrix().bytes.empty());
  EXPECT_EQ(analysis.detectPattern(), Pattern::Unknown);
  EXPECT_THAT(analysis.matrixToASCII(), HasSubstr("too many"));
}

TEST(NCCLOperation, Names) {
  EXPECT_EQ(ncclOpTypeToString(NCCLOpType::ReduceScatter), "ReduceScatter");
  EXPECT_EQ(ncclRedOpToString(NCCLRedOp::Avg), "Avg");
  EXPECT_EQ(ncclDataTypeToString(NCCLDataType::BFloat16), "BFloat16");
  EXPECT_EQ(ncclDataTypeSize(NCCLDataType::BFloat16), 2u);
  EXPECT_EQ(ncclDataTypeSize(NCCLDataType::Float64), 8u);
  EXPECT_EQ(ncclDataTypeSize(static_cast<NCCLDataType>(99)), 0u);
  EXPECT_EQ(ncclOpTypeToString(static_cast<NCCLOpType>(99)), "Unknown");
}

}  // namespace
}  // namespace tracesmith
