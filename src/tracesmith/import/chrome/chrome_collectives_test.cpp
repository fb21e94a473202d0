// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/chrome/chrome_collectives.hpp"

#include <gmock/gmock.h>

#include <string>

#include "tracesmith/import/common/importer_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::ImportedText;
using test::importText;

constexpr std::string_view kTwoRanks =
    R"("distributedInfo":{"backend":"nccl","rank":1,"world_size":2,"pg_config":[)"
    R"({"pg_name":"0","pg_desc":"default_pg","ranks":[0,1]}]},)";

/// What PyTorch says about a collective, on the operator and on the kernel.
std::string about(std::string_view name, std::string_view ranks = "[0, 1]") {
  return R"("Collective name":")" + std::string(name) +
         R"(","In msg nelems":1000,"Out msg nelems":2000,"Group size":2,"dtype":"BFloat16",)" +
         R"("In split size":"[]","Out split size":"[]","Process Group Name":"0",)" +
         R"("Process Group Description":"default_pg","Process Group Ranks":")" +
         std::string(ranks) + "\"";
}

std::string paramComms(int external, const std::string& says, std::string_view more = "") {
  return R"({"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":7,"tid":8,"ts":100.5,)"
         R"("dur":20,"args":{"External id":)" +
         std::to_string(external) + "," + says + std::string(more) + "}},";
}

std::string launchOf(int correlation) {
  return R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernelExC","pid":7,"tid":8,"ts":110,)"
         R"("dur":5,"args":{"correlation":)" +
         std::to_string(correlation) + "}},";
}

std::string ncclKernel(int external, int correlation, const std::string& says, int ts = 200) {
  return R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_bf16_RING_LL","pid":0,)"
         R"("tid":40,"ts":)" +
         std::to_string(ts) + R"(,"dur":50,"args":{"External id":)" + std::to_string(external) +
         R"(,"device":0,"stream":40,"correlation":)" + std::to_string(correlation) + "," + says +
         "}},";
}

ImportedText collectivesOf(std::string events, std::string_view info = kTwoRanks) {
  events.pop_back();
  return importText("{" + std::string(info) + "\"traceEvents\":[" + events + "]}");
}

TEST(ChromeCollectives, AnOperatorIsTheCallAndItsKernelTheWork) {
  const ImportedText got = collectivesOf(paramComms(5, about("allreduce"), R"(,"Seq":3)") +
                                         launchOf(9) + ncclKernel(5, 9, about("allreduce")));
  ASSERT_TRUE(got.ok) << got.error;
  const Trace& t = got.trace;
  ASSERT_EQ(t.comm.size(), 1U);
  EXPECT_EQ(t.comm.start_ns[0], 100500);
  EXPECT_EQ(t.comm.duration_ns[0], 20000);
  EXPECT_EQ(t.text(t.comm.function[0]), "ncclAllReduce");
  EXPECT_EQ(t.comm.correlation_id[0], 9U);
  EXPECT_EQ(t.comm.sequence[0], 3U);
  EXPECT_EQ(t.comm.element_count[0], 1000U);
  EXPECT_EQ(t.comm.send_bytes[0], 2000U);
  EXPECT_EQ(t.comm.receive_bytes[0], 4000U);
  EXPECT_EQ(t.text(t.comm.data_type[0]), "bfloat16");
  EXPECT_EQ(t.process.pid[indexOf(t.comm.process_id[0])], 7U);
  ASSERT_EQ(t.comm_work.size(), 1U);
  EXPECT_EQ(t.comm_work.start_ns[0], 200000);
  EXPECT_EQ(t.comm_work.duration_ns[0], 50000);
  EXPECT_EQ(t.comm_work.correlation_id[0], 9U);
  EXPECT_EQ(t.comm_work.timing_source[0], TimingSource::kDevice);
  ASSERT_EQ(t.communicator.size(), 1U);
  EXPECT_EQ(t.text(t.communicator.name[0]), "default_pg");
  EXPECT_EQ(t.text(t.communicator.members[0]), "0-1");
  EXPECT_EQ(t.communicator.rank[0], 1);
  const auto ranks = RankList::read("[0, 1]");
  EXPECT_EQ(t.communicator.key[0], communicatorKey("0", &*ranks));
  EXPECT_EQ(t.range.size(), 1U);  // both events have their own rows still
  EXPECT_EQ(t.kernel.size(), 1U);
}

TEST(ChromeCollectives, TheOrderOfEventsDoesNotCount) {
  const ImportedText got = collectivesOf(ncclKernel(5, 9, about("allreduce")) + launchOf(9) +
                                         paramComms(5, about("allreduce")));
  ASSERT_TRUE(got.ok) << got.error;
  ASSERT_EQ(got.trace.comm.size(), 1U);
  EXPECT_EQ(got.trace.comm.start_ns[0], 100500);
  EXPECT_EQ(got.trace.comm.correlation_id[0], 9U);
  EXPECT_EQ(got.trace.comm_work.start_ns[0], 200000);
}

TEST(ChromeCollectives, SeveralKernelsOfAnOperatorAreOneOperation) {
  const ImportedText got = collectivesOf(paramComms(5, about("all_to_all")) +
                                         ncclKernel(5, 9, about("all_to_all"), 300) +
                                         ncclKernel(5, 10, about("all_to_all"), 200));
  ASSERT_TRUE(got.ok) << got.error;
  ASSERT_EQ(got.trace.comm.size(), 1U);
  EXPECT_EQ(got.trace.text(got.trace.comm.function[0]), "all_to_all");
  ASSERT_EQ(got.trace.comm_work.size(), 1U);
  EXPECT_EQ(got.trace.comm_work.start_ns[0], 200000);
  EXPECT_EQ(got.trace.comm_work.duration_ns[0], 150000);
}

TEST(ChromeCollectives, AKernelAloneIsACallAtItsStart) {
  const ImportedText got = collectivesOf(launchOf(9) + ncclKernel(0, 9, about("allreduce")) +
                                         ncclKernel(0, 10, about("allreduce"), 400));
  ASSERT_TRUE(got.ok) << got.error;
  ASSERT_EQ(got.trace.comm.size(), 2U);
  EXPECT_EQ(got.trace.comm.start_ns[0], 200000);
  EXPECT_EQ(got.trace.comm.duration_ns[0], 0);
  EXPECT_EQ(got.trace.comm.process_id[0], got.trace.comm.process_id[1]);
  EXPECT_EQ(got.trace.process.pid[indexOf(got.trace.comm.process_id[1])], 7U);
}

TEST(ChromeCollectives, RootsAndPeersAreKnownFromTheOperator) {
  const ImportedText got = collectivesOf(paramComms(1, about("broadcast"), R"(,"Rank":1)") +
                                         paramComms(2, about("broadcast"), R"(,"Rank":0)") +
                                         paramComms(3, about("send"), R"(,"Rank":0,"Dst Rank":0)") +
                                         paramComms(4, about("allreduce"), R"(,"Rank":1)") +
                                         paramComms(5, about("wait")));
  ASSERT_TRUE(got.ok) << got.error;
  const CommTable& comm = got.trace.comm;
  ASSERT_EQ(comm.size(), 4U);  // not of "wait"
  EXPECT_EQ(comm.peer[0], 1);
  EXPECT_EQ(comm.send_bytes[0], 2000U);  // this rank is the root
  EXPECT_EQ(comm.peer[1], 0);
  EXPECT_EQ(comm.send_bytes[1], 0U);
  EXPECT_EQ(comm.kind[2], CommKind::kSend);
  EXPECT_EQ(comm.peer[2], 0);
  EXPECT_EQ(comm.receive_bytes[2], 0U);
  EXPECT_EQ(comm.peer[3], -1);
  EXPECT_TRUE(got.trace.comm_work.empty());
}

TEST(ChromeCollectives, AbbreviatedRanksAreThoseOfTheDocument) {
  const ImportedText got = collectivesOf(paramComms(1, about("allreduce", "[0, ..., 1]")));
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.trace.text(got.trace.communicator.members[0]), "0-1");
  const ImportedText without = collectivesOf(paramComms(1, about("allreduce", "[0, ..., 1]")), "");
  ASSERT_TRUE(without.ok) << without.error;
  EXPECT_EQ(without.trace.communicator.members[0], StringId::kNone);
  EXPECT_EQ(without.trace.communicator.ranks[0], 2U);
  EXPECT_EQ(without.trace.communicator.rank[0], -1);
  EXPECT_EQ(without.trace.communicator.key[0], communicatorKey("0", nullptr));
}

}  // namespace
}  // namespace tracesmith::import
