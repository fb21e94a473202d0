// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/ranks/mpi_ranks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tracesmith {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// mpirun (process 1) with the ranks 1 and 0, and a child of rank 1; a kernel of each, and one of
/// no process.
class MpiRanks : public ::testing::Test {
 protected:
  MpiRanks() {
    process(100, 1, 0);
    process(102, 100, 10);
    process(101, 100, 11);
    process(103, 102, 20);
    world(2, 1);
    world(3, 0);
    trace_.device.push({.id = DeviceId{1}});
    for (uint32_t i = 1; i <= 4; ++i) {
      trace_.stream.push({.id = StreamId{i}, .process_id = ProcessId{i}, .device_id = DeviceId{1}});
      kernel(ProcessId{i}, StreamId{i}, 1000 + i);
    }
    kernel(ProcessId::kNone, StreamId::kNone, 2000);
    trace_.loss.push({.id = LossId{1}, .emitted = 5});
    trace_.loss.push({.id = LossId{2}, .process_id = ProcessId{4}, .emitted = 7});
    trace_.setMetadata("hostname", "node1");
    trace_.clock_offset.push({.low_ns = 1});
  }

  void process(uint32_t pid, uint32_t parent, int64_t start) {
    trace_.process.push({.id = idAt<ProcessId>(trace_.process.size()),
                         .pid = pid,
                         .parent_pid = parent,
                         .start_ns = start});
  }
  void world(uint32_t process, int64_t rank) {
    trace_.communicator.push({.id = idAt<CommunicatorId>(trace_.communicator.size()),
                              .process_id = ProcessId{process},
                              .name = trace_.strings.intern("MPI_COMM_WORLD"),
                              .ranks = 2,
                              .rank = rank});
  }
  void kernel(ProcessId process, StreamId stream, int64_t start) {
    trace_.kernel.push({.start_ns = start, .process_id = process, .stream_id = stream});
  }
  std::vector<Trace> parts() {
    std::vector<Trace> parts;
    const Status done = forEachMpiRank(trace_, [&](Trace part) -> Status {
      parts.push_back(std::move(part));
      return {};
    });
    EXPECT_TRUE(done);
    return parts;
  }
  static std::vector<uint32_t> pids(const Trace& part) {
    return {part.process.pid.begin(), part.process.pid.end()};
  }
  static std::vector<int64_t> starts(const Trace& part) {
    return {part.kernel.start_ns.begin(), part.kernel.start_ns.end()};
  }

  Trace trace_;
};

TEST_F(MpiRanks, AreThoseOfTheWorldByNumber) {
  const std::vector<MpiRank> ranks = mpiRanks(trace_);
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_FALSE(hasSeveralMpiJobs(trace_));
  EXPECT_EQ(ranks[0].number, 0U);
  EXPECT_EQ(ranks[0].process, ProcessId{3});
  EXPECT_EQ(ranks[1].number, 1U);
  EXPECT_EQ(ranks[1].world_size, 2U);
}

TEST_F(MpiRanks, EachRowIsInOnePart) {
  const std::vector<Trace> all = parts();
  ASSERT_EQ(all.size(), 2U);
  // What is no rank's is the first one's; mpirun is the parent of both.
  EXPECT_THAT(pids(all[0]), ElementsAre(100, 101, 0));
  EXPECT_THAT(starts(all[0]), ElementsAre(1001, 1003, 2000));
  EXPECT_THAT(all[0].loss.emitted, ElementsAre(5));
  EXPECT_EQ(all[0].clock_offset.size(), 1U);
  EXPECT_THAT(pids(all[1]), ElementsAre(102, 103));
  EXPECT_THAT(starts(all[1]), ElementsAre(1002, 1004));
  EXPECT_THAT(all[1].loss.emitted, ElementsAre(7));
  EXPECT_EQ(all[1].clock_offset.size(), 0U);
  for (const Trace& part : all) {
    EXPECT_EQ(part.rank.size(), 0U);
    EXPECT_EQ(part.device.size(), 1U) << "shared";
    EXPECT_EQ(part.communicator.size(), 1U);
    EXPECT_EQ(part.metadataValue("hostname"), "node1");
    for (size_t i = 0; i < part.stream.size(); ++i) {
      EXPECT_EQ(part.stream.device_id[i], DeviceId{1});
    }
  }
}

TEST_F(MpiRanks, APidThatWasUsedTwiceIsTheParentThatHadStarted) {
  process(100, 102, 500);  // mpirun's pid again, as a child of rank 1
  process(104, 100, 600);
  EXPECT_THAT(pids(parts()[1]), ElementsAre(102, 103, 100, 104));
}

TEST_F(MpiRanks, ProcessesThatAreTheirOwnAncestorsAreNoRanks) {
  process(200, 201, 30);
  process(201, 200, 30);
  EXPECT_EQ(parts()[0].process.size(), 5U);
}

TEST_F(MpiRanks, TwoJobsHaveNone) {
  world(4, 0);
  EXPECT_THAT(mpiRanks(trace_), IsEmpty());
  EXPECT_TRUE(hasSeveralMpiJobs(trace_));
}

TEST_F(MpiRanks, AProcessThatIsAJobOfItsOwnIsNone) {
  world(4, 0);
  trace_.communicator.ranks[2] = 1;
  EXPECT_EQ(mpiRanks(trace_).size(), 2U);
}

TEST_F(MpiRanks, ARenamedWorldIsOneAndAnotherJobIsTold) {
  trace_.communicator.name[0] = trace_.strings.intern("all of us");
  EXPECT_EQ(mpiRanks(trace_).size(), 1U);
  trace_.communicator.ordinal[0] = 1;
  trace_.communicator.members[0] = trace_.strings.intern("0-1");
  EXPECT_EQ(mpiRanks(trace_).size(), 2U);
  trace_.communicator.key[0] = 5;
  EXPECT_TRUE(hasSeveralMpiJobs(trace_));
}

}  // namespace
}  // namespace tracesmith
