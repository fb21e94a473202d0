// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/comm_operations.hpp"

#include <gtest/gtest.h>

#include "tracesmith/analysis/communication/comm_bandwidth.hpp"
#include "tracesmith/analysis/communication/comm_exposure.hpp"
#include "tracesmith/analysis/communication/comm_trace_test_util.hpp"
#include "tracesmith/analysis/communication/comm_volumes.hpp"

namespace tracesmith {
namespace {

using test::CommTrace;

std::vector<CommOperation> operationsOf(const CommTrace& made) {
  return commOperations(made.trace, JobCommunicators(made.trace), made.deviceOps());
}

/// A trace of NCCL with a GPU, its streams, and kernels.
class NcclTrace : public CommTrace {
 public:
  NcclTrace() : CommTrace(1), communicator_(communicator(0, 7, 0, 8, "", "", "NCCL")) {
    trace.device.push({.id = idAt<DeviceId>(0), .kind = DeviceKind::kGpu});
    for (const uint64_t handle : {100, 200}) {
      trace.stream.push({.id = idAt<StreamId>(trace.stream.size()),
                         .process_id = ProcessId{1},
                         .device_id = idAt<DeviceId>(0),
                         .handle = handle});
    }
  }
  void enqueue(std::string_view function, int64_t start, uint64_t bytes, uint64_t group = 0,
               uint64_t stream = 100) {
    CommRow& row = call(0, communicator_, function, CommKind::kCollective, start, 10);
    row.send_bytes = row.receive_bytes = bytes;
    row.stream = stream;
    row.group_id = group;
    row.sequence = ++sequence_;
    last = add();
  }
  void kernel(std::string_view name, int64_t launch, int64_t start, int64_t duration,
              uint32_t stream = 0) {
    const uint64_t id = 1'000 + trace.kernel.size();
    trace.host_call.push({.start_ns = launch,
                          .duration_ns = 2,
                          .name = text("cudaLaunchKernelExC"),
                          .process_id = ProcessId{1},
                          .thread_id = ThreadId{1},
                          .correlation_id = id,
                          .kind = CallKind::kLaunch});
    trace.kernel.push({.start_ns = start,
                       .duration_ns = duration,
                       .name = text(name),
                       .process_id = ProcessId{1},
                       .thread_id = ThreadId{1},
                       .stream_id = idAt<StreamId>(stream),
                       .correlation_id = id});
  }
  uint64_t last = 0;

 private:
  CommunicatorId communicator_;
  uint64_t sequence_ = 0;
};

constexpr const char* kAllReduceKernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

TEST(CommBandwidth, IsThatOfNcclTests) {
  // NCCL Inspector's README, and a run of nccl-tests on 16 GPUs.
  const double of_8 = algorithmBandwidth(17'179'869'184, 61'974'000);
  EXPECT_NEAR(of_8 / 1e9, 277.21, 0.005);
  EXPECT_NEAR(of_8 * *busFactor(CollectiveOp::kAllReduce, 8) / 1e9, 485.119, 0.0005);
  const double of_16 = algorithmBandwidth(uint64_t{1} << 30, 4'389'500);
  EXPECT_NEAR(of_16 / 1e9, 244.62, 0.005);
  EXPECT_NEAR(of_16 * *busFactor(CollectiveOp::kAllReduce, 16) / 1e9, 458.65, 0.01);
  for (const CollectiveOp op :
       {CollectiveOp::kAllGather, CollectiveOp::kReduceScatter, CollectiveOp::kAllToAll}) {
    EXPECT_DOUBLE_EQ(*busFactor(op, 4), 0.75);
  }
  for (const CollectiveOp op : {CollectiveOp::kBroadcast, CollectiveOp::kReduce,
                                CollectiveOp::kSend, CollectiveOp::kRecv}) {
    EXPECT_DOUBLE_EQ(*busFactor(op, 4), 1);
  }
  EXPECT_FALSE(busFactor(CollectiveOp::kAllReduce, 0));
  EXPECT_FALSE(busFactor(CollectiveOp::kBarrier, 4));
  EXPECT_EQ(algorithmBandwidth(100, 0), 0);
}

TEST(CommBandwidth, SizesAreThoseOfTheWholeBuffer) {
  EXPECT_EQ(operationBytes(CollectiveOp::kAllGather, "MPI_Allgather", 4, 8, 32), 32u);
  EXPECT_EQ(operationBytes(CollectiveOp::kReduceScatter, "ncclReduceScatter", 4, 32, 8), 32u);
  EXPECT_EQ(operationBytes(CollectiveOp::kGather, "MPI_Gather", 4, 8, 0), 32u) << "not the root";
  EXPECT_EQ(operationBytes(CollectiveOp::kGather, "MPI_Gather", 4, 8, 32), 32u) << "the root";
  EXPECT_EQ(operationBytes(CollectiveOp::kGather, "MPI_Gatherv", 4, 8, 0), 0u) << "parts differ";
  EXPECT_EQ(operationBytes(CollectiveOp::kScatter, "MPI_Iscatterv_c", 4, 0, 8), 0u);
  EXPECT_EQ(operationBytes(CollectiveOp::kScatter, "MPI_Scatter", 4, 32, 8), 32u);
  EXPECT_EQ(operationBytes(CollectiveOp::kGather, "MPI_Gather", UINT64_MAX, 8, 0), UINT64_MAX);
}

TEST(CommOperations, ARequestEndsWithItsCompletion) {
  CommTrace made(2);
  const auto world = made.world();
  CommRow& start = made.call(0, world[0], "MPI_Irecv", CommKind::kReceive, 100, 5);
  start.peer = start.tag = -2;
  const uint64_t request = made.add();
  CommRow& wait = made.call(0, world[0], "MPI_Wait", CommKind::kCompletion, 300, 50);
  wait.request = request;
  wait.peer = 1;
  wait.tag = 9;
  wait.receive_bytes = 64;
  made.add();
  made.call(0, world[0], "MPI_Init", CommKind::kSetup, 0, 5);
  made.add();
  made.call(0, world[0], "MPI_Send", CommKind::kSend, 80, 5);  // to MPI_PROC_NULL
  made.add();
  made.call(0, world[0], "MPI_Iprobe", CommKind::kProbe, 90, 5);
  made.add();
  const auto all = operationsOf(made);
  ASSERT_EQ(all.size(), 1u) << "setup, probe, completion and messages to nobody are no operations";
  EXPECT_EQ(all[0].timing, CommTiming::kRequest);
  EXPECT_EQ(all[0].begin_ns, 100);
  EXPECT_EQ(all[0].end_ns, 350);
  EXPECT_EQ(all[0].peer, 1);
  EXPECT_EQ(all[0].tag, 9);
  EXPECT_EQ(all[0].bytes, 64u);
  const auto exposed = commExposures(made.trace, all, made.deviceOps());
  ASSERT_EQ(exposed.rows.size(), 1u);
  EXPECT_EQ(exposed.rows[0].time_ns, 250);
  EXPECT_EQ(exposed.rows[0].exposed_ns, 55) << "the two calls";
}

TEST(CommOperations, RequestsOfOneCallCompleteInAnyOrder) {
  CommTrace made(4);
  const auto world = made.world();
  uint64_t id = 0;
  for (const int64_t peer : {1, 2, 3}) {  // MPI_Startall has a row for each request
    CommRow& row = made.call(0, world[0], "MPI_Startall", CommKind::kOther, 100, 5);
    row.peer = peer;
    row.tag = 5;
    row.send_bytes = peer == 2 ? 16 : 0;
    if (id == 0) id = row.correlation_id;
    row.correlation_id = id;
    made.add();
  }
  int64_t end = 200;
  for (const int64_t peer : {3, 2, 1}) {
    CommRow& row = made.call(0, world[0], "MPI_Waitany", CommKind::kCompletion, end, 10);
    row.peer = peer;
    row.tag = 5;
    row.request = id;
    row.receive_bytes = peer == 2 ? 0 : 32;
    made.add();
    end += 100;
  }
  const auto all = operationsOf(made);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].kind, CommKind::kReceive);
  EXPECT_EQ(all[1].kind, CommKind::kSend);
  EXPECT_EQ(all[0].end_ns, 410);
  EXPECT_EQ(all[1].end_ns, 310);
  EXPECT_EQ(all[2].end_ns, 210);
}

TEST(CommOperations, TimesOfTheWorkCountFirst) {
  NcclTrace made;
  made.enqueue("ncclAllReduce", 0, 1000);
  made.work(0, made.last, 500, 100);
  made.enqueue("ncclAllReduce", 1'000, 1000);
  made.kernel(kAllReduceKernel, 1'004, 2'000, 300);
  made.enqueue("ncclAllReduce", 3'000, 1000);
  made.kernel("gemm", 3'004, 4'000, 300);
  const auto all = operationsOf(made);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].timing, CommTiming::kWork);
  EXPECT_EQ(all[0].begin_ns, 500);
  EXPECT_EQ(all[0].end_ns, 600);
  EXPECT_EQ(all[1].timing, CommTiming::kKernel);
  EXPECT_EQ(all[1].begin_ns, 2'000);
  EXPECT_EQ(all[1].device, DeviceId{1});
  EXPECT_EQ(all[2].timing, CommTiming::kEnqueuing) << "a kernel of no collective library";
  EXPECT_EQ(all[0].progress, CommProgress::kCompleted);
  EXPECT_EQ(all[2].progress, CommProgress::kUnfinished);
  const auto volumes = commVolumes(all, JobCommunicators(made.trace));
  ASSERT_EQ(volumes.size(), 1u);
  EXPECT_EQ(volumes[0].calls, 3u);
  EXPECT_EQ(volumes[0].timed, 2u);
  EXPECT_EQ(volumes[0].from_bytes, 512u);
  EXPECT_DOUBLE_EQ(volumes[0].algbw, 2000 * 1e9 / 400) << "what only enqueues has no bandwidth";
  EXPECT_DOUBLE_EQ(*volumes[0].busbw, volumes[0].algbw * 1.75);
  EXPECT_DOUBLE_EQ(*volumes[0].best_busbw, 1000 * 1e9 / 100 * 1.75);
}

TEST(CommOperations, AGroupLaunchesItsKernelsWhenItEnds) {
  NcclTrace made;
  made.enqueue("ncclSend", 0, 10, 1);
  made.enqueue("ncclRecv", 20, 10, 1);
  made.kernel("ncclDevKernel_SendRecv", 45, 100, 50);
  made.enqueue("ncclAllReduce", 200, 10, 2, 100);
  made.enqueue("ncclAllReduce", 220, 10, 2, 200);
  made.kernel(kAllReduceKernel, 241, 500, 50, 1);
  made.kernel(kAllReduceKernel, 243, 300, 60, 0);
  made.enqueue("ncclAllReduce", 1'000, 10);
  // Two on one stream, in their order.
  made.enqueue("ncclAllReduce", 2'000, 10, 3);
  made.enqueue("ncclAllReduce", 2'020, 10, 3);
  made.kernel(kAllReduceKernel, 2'041, 3'000, 50);
  made.kernel(kAllReduceKernel, 2'043, 3'100, 60);
  const auto all = operationsOf(made);
  ASSERT_EQ(all.size(), 7u);
  EXPECT_EQ(all[5].end_ns, 3'050);
  EXPECT_EQ(all[6].begin_ns, 3'100);
  EXPECT_FALSE(all[6].shares_kernel);
  for (const size_t i : {0u, 1u}) {
    EXPECT_EQ(all[i].begin_ns, 100);
    EXPECT_TRUE(all[i].shares_kernel);
    EXPECT_FALSE(all[i].hasOwnTime());
  }
  EXPECT_EQ(all[2].begin_ns, 300) << "the kernel on its stream";
  EXPECT_EQ(all[3].begin_ns, 500);
  EXPECT_FALSE(all[2].shares_kernel);
  EXPECT_EQ(all[4].timing, CommTiming::kEnqueuing);
}

TEST(CommOperations, BytesFollowFromElementsWhereOnlyTheseAreKnown) {
  NcclTrace made;
  CommRow& row = made.call(0, CommunicatorId{1}, "ncclAllGather", CommKind::kCollective, 0, 1);
  row.element_count = 100;
  row.data_type = made.text("float32");
  made.add();
  CommRow& much = made.call(0, CommunicatorId{1}, "ncclAllReduce", CommKind::kCollective, 0, 1);
  much.element_count = UINT64_MAX;
  much.data_type = made.text("float64");
  made.add();
  const auto all = operationsOf(made);
  EXPECT_EQ(all[0].bytes, 3'200u) << "8 ranks";
  EXPECT_EQ(all[1].bytes, 0u) << "no number of bytes is that large";
}

TEST(CommOperations, OfARanksPartNothingFollowsIfNobodySaysHowManyRanksThereAre) {
  CommTrace made(1);
  const CommunicatorId world = made.communicator(0, 7, 0, 0, {}, "world", "NCCL");
  for (const char* const function : {"ncclAllGather", "ncclReduceScatter", "ncclAllReduce"}) {
    CommRow& row = made.call(0, world, function, CommKind::kCollective, 0, 1);
    row.send_bytes = 2048;
    row.element_count = 512;
    row.data_type = made.text("float32");
    made.add();
  }
  const auto all = operationsOf(made);
  EXPECT_EQ(all[0].bytes, 0u);
  EXPECT_EQ(all[1].bytes, 0u);
  EXPECT_EQ(all[2].bytes, 2048u);
}

TEST(CommExposure, OnADeviceIsWhatComputeDoesNotHide) {
  NcclTrace made;
  made.enqueue("ncclAllReduce", 0, 1000);
  made.kernel(kAllReduceKernel, 4, 100, 100);
  made.enqueue("ncclAllReduce", 50, 1000);
  made.kernel(kAllReduceKernel, 54, 150, 100, 1);  // at the same time as the first, in part
  made.kernel("gemm", 60, 180, 40, 1);
  const auto all = operationsOf(made);
  const auto exposed = commExposures(made.trace, all, made.deviceOps());
  ASSERT_EQ(exposed.rows.size(), 1u);
  EXPECT_TRUE(exposed.rows[0].on_device);
  EXPECT_EQ(exposed.rows[0].time_ns, 150);
  EXPECT_EQ(exposed.rows[0].exposed_ns, 110);
  EXPECT_EQ(exposed.rows[0].hidden_ns(), 40);
}

TEST(CommExposure, WithoutComputeInTheTraceNothingIsSaid) {
  NcclTrace made;
  made.enqueue("ncclAllReduce", 0, 1000);
  made.work(0, made.last, 500, 100);
  const auto exposed = commExposures(made.trace, operationsOf(made), made.deviceOps());
  EXPECT_TRUE(exposed.rows.empty());
  EXPECT_EQ(exposed.without_compute, 1u);
}

TEST(CommOperations, DamagedIdsAndTimesDoNoHarm) {
  CommTrace made(1);
  CommRow& row = made.call(0, CommunicatorId{5'000'000}, "MPI_Allreduce", CommKind::kCollective,
                           INT64_MAX - 5, INT64_MAX);
  row.thread_id = ThreadId{4'000'000'000};
  row.process_id = ProcessId{4'000'000'000};
  row.peer = INT64_MIN;
  row.send_bytes = UINT64_MAX;
  made.add();
  CommRow& negative =
      made.call(0, CommunicatorId{}, "", static_cast<CommKind>(99), INT64_MIN, INT64_MIN);
  negative.function = StringId{123'456'789};
  made.add();
  made.trace.comm_work.push({.start_ns = INT64_MIN, .duration_ns = -5, .correlation_id = 1});
  const auto all = operationsOf(made);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].end_ns, INT64_MAX);
  EXPECT_EQ(all[0].member, CommOperation::kNone);
  EXPECT_EQ(commVolumes(all, JobCommunicators(made.trace)).size(), 1u);
}

}  // namespace
}  // namespace tracesmith
