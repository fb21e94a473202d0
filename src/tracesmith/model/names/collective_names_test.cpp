// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/names/collective_names.hpp"

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

TEST(CollectiveNames, ArePartsOfNoOtherWord) {
  for (const char* name :
       {"void cross_device_reducer<float>(float*)", "oneShotAllReduceKernelTest(int)",
        "small_reduce_kernel", "MyOverallReduceKernels", "overall_reduce_kernel",
        "void drone_onecclass(float*)", "not_allreduce_fusion_kernels"}) {
    EXPECT_EQ(collectiveLibraryOf(name), "") << name;
    EXPECT_EQ(collectiveOf(name), CollectiveOp::kNone) << name;
  }
  for (const char* name :
       {"void vllm::cross_device_reduce_1stage<float, 2>(RankData*)", "one_shot_all_reduce_kernel",
        "void tensorrt_llm::oneShotAllReduceKernel<half, 8>(AllReduceParams)",
        "allreduce_fusion_kernel_oneshot_lamport"}) {
    EXPECT_EQ(collectiveOf(name), CollectiveOp::kAllReduce) << name;
  }
}

TEST(CollectiveNames, OfEachLibrary) {
  struct Case {
    const char* name;
    const char* library;
    const char* op;
  };
  for (const Case& c : {
           Case{"ncclDevKernel_AllGather_RING_LL", "NCCL, RCCL", "all_gather"},
           {"rcclGenericKernel", "RCCL", "other"},
           {"mscclKernel_Sum_half_Simple", "MSCCL", "other"},
           {"mcclKernel_AllReduce_RING_SIMPLE_Sum___mt_bfloat16", "MCCL (MetaX, Moore Threads)",
            "all_reduce"},
           {"mcclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(mcclWorkElem)",
            "MCCL (MetaX, Moore Threads)", "send_recv"},
           {"mccl:all_reduce", "MCCL (MetaX, Moore Threads)", "all_reduce"},
           {"hcom_allReduce__428_0_1", "HCCL (Ascend)", "all_reduce"},
           {"hcom_allGather_", "HCCL (Ascend)", "all_gather"},
           {"hcom_reduceScatter_", "HCCL (Ascend)", "reduce_scatter"},
           {"hcom_alltoallv_", "HCCL (Ascend)", "all_to_all"},
           {"hcom_broadcast__210_0_1", "HCCL (Ascend)", "broadcast"},
           {"hcom_receive_", "HCCL (Ascend)", "recv"},
           {"hcom_batchSendRecv_", "HCCL (Ascend)", "send_recv"},
           {"HcclAllReduce", "HCCL (Ascend, Habana)", "all_reduce"},
           {"allreduceAicpuKernel", "HCCL (Ascend)", "all_reduce"},
           {"cncl:all_reduce", "CNCL (Cambricon)", "all_reduce"},
           {"bkcl_all_gather", "BKCL (Kunlun)", "all_gather"},
           {"gloo:all_reduce", "Gloo", "all_reduce"},
           {"gloo:broadcast", "Gloo", "broadcast"},
           {"gloo:barrier", "Gloo", "barrier"},
           {"xccl:all_gather_into_tensor", "XCCL, oneCCL", "all_gather"},
           {"xccl::allreduce", "XCCL, oneCCL", "all_reduce"},
           {"oneccl_allreduce_pcie", "oneCCL", "all_reduce"},
           {"void oneapi::oneccl::reduce_scatter_kernel<float>(float*)", "oneCCL",
            "reduce_scatter"},
           {"ccl_allgatherv_kernel", "oneCCL", "all_gather"},
           {"ucc:all_to_all", "UCC", "all_to_all"},
           {"mpi:all_reduce", "MPI", "all_reduce"},
           {"MPI_Allreduce", "MPI", "all_reduce"},
           {"PMPI_Bcast", "MPI", "broadcast"},
           {"void vllm::cross_device_reduce_1stage<half, 2>(void*)", "vLLM, SGLang", "all_reduce"},
           {"two_shot_all_reduce_kernel", "all-reduce of a framework", "all_reduce"},
           {"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(float*)",
            "all-reduce of a framework", "all_reduce"},
           {"void tensorrt_llm::kernels::oneShotAllReduceKernel<half>()",
            "all-reduce of a framework", "all_reduce"},
           {"void quickreduce::allreduce_prototype_twoshot<AllReduceTwoshot<__half>, __half>()",
            "all-reduce of a framework", "all_reduce"},
           {"void stream_executor::gpu::AllReduceKernelImpl<float, 1>()", "XLA", "all_reduce"},
           {"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*)", "DeepEP",
            "all_to_all"},
           {"void deep_ep::internode_ll::combine<true>(void*)", "DeepEP", "all_to_all"},
       }) {
    EXPECT_EQ(collectiveLibraryOf(c.name), c.library) << c.name;
    EXPECT_TRUE(isCollectiveKernel(c.name)) << c.name;
    EXPECT_EQ(toString(collectiveOf(c.name)), c.op) << c.name;
  }
  for (const char* name :
       {"ccl_label_components", "void reduce_kernel<512, 1>(AllReduce)", "mpileup_kernel", "gemm",
        "MPI_Init", "broadcast_kernel", "block_reduce_kernel", "glooper", "ucc_memory_map",
        "void at::native::gatherTopK<float>()", "hcompute_scatter",
        "void deep_ep::layout::get_dispatch_layout<256>()", "OneShotAllReduceKernelImplTest", ""}) {
    EXPECT_FALSE(isCollectiveKernel(name)) << name;
    EXPECT_EQ(collectiveOf(name), CollectiveOp::kNone) << name;
  }
}

}  // namespace
}  // namespace tracesmith
