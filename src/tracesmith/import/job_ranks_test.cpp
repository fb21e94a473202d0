// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/job_ranks.hpp"

#include <gmock/gmock.h>

namespace tracesmith::import {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Paths = std::vector<std::string>;
using InTraces = std::vector<std::optional<JobRank>>;

std::vector<uint32_t> numbersOf(const std::vector<JobRank>& ranks) {
  std::vector<uint32_t> numbers;
  for (const JobRank& rank : ranks) numbers.push_back(rank.number);
  return numbers;
}

TEST(JobRanks, NumberAfterTheWordRankInAFileName) {
  EXPECT_EQ(rankInName("rank-3.json.gz"), 3u);
  EXPECT_EQ(rankInName("run/rank_003.sbt"), 3u);
  EXPECT_EQ(rankInName("/data/Llama_Rank12.trace"), 12u);
  EXPECT_EQ(rankInName("rank.7.pt.trace.json"), 7u);
  EXPECT_EQ(rankInName("sampled_rank-1.1678.gz"), 1u);
  EXPECT_EQ(rankInName("rank-2/trace.json"), std::nullopt) << "only the file's own name counts";
  EXPECT_EQ(rankInName("crank.json"), std::nullopt);
  EXPECT_EQ(rankInName("rank99999999999999999999.json"), std::nullopt);
  EXPECT_EQ(rankInName("rank-1700000000.json"), std::nullopt) << "a time, not a rank";
  EXPECT_EQ(rankInName("rank"), std::nullopt);
  EXPECT_EQ(rankInName(""), std::nullopt);
}

TEST(JobRanks, TraceSaysItsRank) {
  Trace trace;
  EXPECT_FALSE(rankInTrace(trace));
  trace.setMetadata("source.distributedInfo",
                    R"({"backend":"nccl","pg_config":[{"rank":9}],"rank":3,"world_size":4})");
  const std::optional<JobRank> rank = rankInTrace(trace);
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->number, 3u);
  EXPECT_EQ(rank->world_size, 4u);
  EXPECT_EQ(rank->from, RankSource::kTrace);
  trace.setMetadata("source.distributedInfo", R"({"rank":-1})");
  EXPECT_FALSE(rankInTrace(trace));
  trace.setMetadata("source.distributedInfo", R"({"rank":)");
  EXPECT_FALSE(rankInTrace(trace));
}

CommunicatorRow ncclRow(Trace& trace, uint64_t key, uint32_t ranks, int64_t rank) {
  return {.id = idAt<CommunicatorId>(trace.communicator.size()),
          .process_id = ProcessId{1},
          .key = key,
          .ranks = ranks,
          .rank = rank,
          .library = trace.strings.intern("NCCL")};
}

TEST(JobRanks, TheLargestCommunicatorOfNcclSaysTheRank) {
  Trace trace;
  trace.communicator.push(ncclRow(trace, 7, 2, 1));
  trace.communicator.push(ncclRow(trace, 8, 16, 9));
  trace.communicator.push(ncclRow(trace, 9, 4, 3));
  const std::optional<JobRank> rank = rankInTrace(trace);
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->number, 9U);
  EXPECT_EQ(rank->world_size, 16U);
  EXPECT_EQ(rank->communicator, 8U);
  Trace two_gpus = trace;
  two_gpus.communicator.push(ncclRow(two_gpus, 8, 16, 10));
  EXPECT_FALSE(rankInTrace(two_gpus));
  Trace group;  // its ranks are known to have other numbers in the job
  CommunicatorRow row = ncclRow(group, 7, 2, 1);
  row.members = group.strings.intern("4-5");
  group.communicator.push(row);
  EXPECT_FALSE(rankInTrace(group));
}

TEST(JobRanks, RanksInCommunicatorsCountIfAllAreOfTheSame) {
  const JobRank first{1, RankSource::kTrace, 4, 0, 8};
  const JobRank same{0, RankSource::kTrace, 4, 0, 8};
  const JobRank other{0, RankSource::kTrace, 4, 0, 9};
  const Paths paths = {"a.log", "b.log"};
  EXPECT_THAT(numbersOf(ranksOfFiles(paths, InTraces{first, same})), ElementsAre(1, 0));
  const std::vector<JobRank> by_position = ranksOfFiles(paths, InTraces{first, other});
  EXPECT_THAT(numbersOf(by_position), ElementsAre(0, 1));
  EXPECT_EQ(by_position[0].from, RankSource::kPosition);
  EXPECT_THAT(numbersOf(ranksOfFiles(paths, InTraces{first, std::nullopt})), ElementsAre(0, 1));
}

TEST(JobRanks, MpiSaysTheRank) {
  Trace trace;
  const StringId world = trace.strings.intern("MPI_COMM_WORLD");
  trace.communicator.push({.id = CommunicatorId{1}, .ranks = 1, .rank = 0});
  EXPECT_FALSE(rankInTrace(trace)) << "a communicator of some";
  trace.communicator.push({.id = CommunicatorId{2}, .name = world, .ranks = 8, .rank = 5});
  const std::optional<JobRank> rank = rankInTrace(trace);
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->number, 5u);
  EXPECT_EQ(rank->world_size, 8u);
  EXPECT_EQ(rank->from, RankSource::kTrace);
  trace.communicator.push({.id = CommunicatorId{3}, .name = world, .ranks = 8, .rank = 6});
  EXPECT_FALSE(rankInTrace(trace)) << "a trace of several ranks";
}

TEST(JobRanks, TraceCountsBeforeNameAndNameBeforePosition) {
  const Paths paths = {"a.json", "rank-1.json", "rank-5.json", "b.json"};
  const InTraces said = {std::nullopt, std::nullopt, JobRank{0, RankSource::kTrace, 4},
                         std::nullopt};
  const std::vector<JobRank> ranks = ranksOfFiles(paths, said);
  EXPECT_THAT(numbersOf(ranks), ElementsAre(2, 1, 0, 3));
  EXPECT_EQ(ranks[0].from, RankSource::kPosition);
  EXPECT_EQ(ranks[1].from, RankSource::kFileName);
  EXPECT_EQ(ranks[2].from, RankSource::kTrace);
}

TEST(JobRanks, MissingRanksAndAssumedNumbersAreSaid) {
  const Paths paths = {"a", "b", "c"};
  const std::vector<JobRank> some = {
      {0, RankSource::kTrace, 8}, {1, RankSource::kTrace, 8}, {3, RankSource::kTrace, 8}};
  EXPECT_THAT(describeRanks(paths, some),
              ElementsAre("the job has 8 ranks; missing: 2 and 4 to 7"));
  const std::vector<JobRank> all = {{0, RankSource::kTrace, 2}, {1, RankSource::kTrace, 2}};
  EXPECT_THAT(describeRanks(std::span(paths).first(2), all), IsEmpty());
  const std::vector<JobRank> guessed = {
      {0, RankSource::kFileName, 0}, {1, RankSource::kPosition, 0}, {2, RankSource::kPosition, 0}};
  EXPECT_THAT(describeRanks(paths, guessed),
              ElementsAre(HasSubstr("1 of 3 files do not say"), HasSubstr("as b is rank 1")));
}

TEST(JobRanks, TwoFilesOfOneRankAreNamed) {
  const Paths paths = {"a", "b"};
  const std::vector<JobRank> twice = {{1, RankSource::kTrace, 0}, {1, RankSource::kFileName, 0}};
  const Status status = areRanksOfOneJob(paths, twice);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().toString(), "b: is of rank 1, as a is; give one file for each rank");
}

TEST(JobRanks, TwoJobsAreNamed) {
  const Paths paths = {"a", "b", "c"};
  std::vector<JobRank> ranks = {{0, RankSource::kTrace, 4, 0},
                                {1, RankSource::kTrace, 4, 77},
                                {2, RankSource::kTrace, 4, 77}};
  EXPECT_TRUE(areRanksOfOneJob(paths, ranks));
  ranks[2].job = 78;
  const Status status = areRanksOfOneJob(paths, ranks);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().toString(), "c: is of another MPI job than b");
  ranks[1].world_size = 8;
  EXPECT_THAT(describeRanks(paths, ranks),
              ::testing::Contains("a is of a job of 4 ranks, another file of one of 8"));
}

}  // namespace
}  // namespace tracesmith::import
