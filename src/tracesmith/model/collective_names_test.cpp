// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/collective_names.hpp"

#include <gtest/gtest.h>

namespace tracesmith {
namespace {

TEST(CollectiveNames, AreReadFromKernelsAndRanges) {
  struct Case {
    const char* name;
    const char* op;
  };
  for (const Case& c :
       {Case{"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
             "all_reduce"},
        {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long)", "all_reduce"},
        {"ncclAllReduceRingLLKernel_sum_f32(ncclColl)", "all_reduce"},
        {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "reduce_scatter"},
        {"ncclDevKernel_Reduce_Sum_f32_RING_LL", "reduce"},
        {"ncclDevKernel_Broadcast_RING_LL", "broadcast"},
        {"ncclDevKernel_AllGather_RING_LL", "all_gather"},
        {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "send_recv"},
        {"nccl:_all_gather_base", "all_gather"},
        {"nccl:reduce_scatter_tensor_coalesced", "reduce_scatter"},
        {"nccl:send 0->1", "send"},
        {"ncclDevKernel_Generic(ncclDevKernelArgs*)", "other"},
        {"void rcclGenericKernel<1, false>(ncclDevComm*)", "other"},
        {"ncclCommInitRank", "none"},
        {"ncclGroupStart", "none"},
        {"void reduce_kernel<512, 1>(AllReduce)", "none"},
        {"", "none"}}) {
    EXPECT_EQ(toString(collectiveOf(c.name)), c.op) << c.name;
  }
}

}  // namespace
}  // namespace tracesmith
