// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/kernel_names/kernel_name.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tracesmith/analysis/kernel_names/family_rules.hpp"
#include "tracesmith/analysis/kernel_names/function_name.hpp"

namespace tracesmith {
namespace {

using enum KernelFamily;

struct Case {
  std::string_view full;
  std::string_view short_name;
  KernelFamily family;
  std::string_view data_type = "";
  std::string_view tile = "";
  std::string_view layout = "";
};

constexpr Case kCases[] = {
    // PyTorch, as Kineto and as Nsight Systems print it.
    {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
     "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
     "vectorized_elementwise<add, f32>", kElementwise, "f32"},
    {"void at::native::vectorized_elementwise_kernel<(int)4, at::native::AUnaryFunctor<float, "
     "float, float, at::native::binary_internal::MulFunctor<float>>, std::array<char *, (unsigned "
     "long)2>>(int, T2, T3)",
     "vectorized_elementwise<mul, f32>", kElementwise, "f32"},
    {"void at::native::elementwise_kernel<128, 4, "
     "at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::"
     "TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#12}::operator()() "
     "const::{lambda(c10::BFloat16)#1}>(at::TensorIteratorBase&, int)::{lambda(int)#1}>(int)",
     "elementwise<direct_copy, bf16>", kCopy, "bf16"},
    {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, "
     "c10::BFloat16, at::native::(anonymous namespace)::SoftMaxForwardEpilogue>(c10::BFloat16*)",
     "cunn_SoftMaxForward<bf16>", kSoftmax, "bf16"},
    {"void <unnamed>::softmax_warp_forward<float, float, float, (int)6, (bool)0, (bool)0>(T2 *)",
     "softmax_warp_forward<f32>", kSoftmax, "f32"},
    {"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, float, float, "
     "float, false, true, true, false, 7, cublasGemvParams<float> >(cublasGemvParams<float>)",
     "gemvx::kernel<f32>", kGemm, "f32"},
    // Coded names.
    {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_"
     "segment_k_off_kernel__5x_cublas",
     "xmma_gemm<bf16, 128x128x64, tn>", kGemm, "bf16", "128x128x64", "tn"},
    {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8>("
     "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8::Params)",
     "cutlass_gemm_relu<bf16, 128x64x64, tn>", kGemm, "bf16", "128x64x64", "tn"},
    {"ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn", kGemm, "", "128x64", "tn"},
    {"nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN", "nvjet_gemm<bf16, 192x192x64, tn>", kGemm,
     "bf16", "192x192x64", "tn"},
    {"Cijk_Ailk_Bjlk_HHS_BH_MT128x128x32_MI32x32x8x1_SN_1LDSB0_APM1",
     "tensile_gemm<f16, 128x128x32, nt>", kGemm, "f16", "128x128x32", "nt"},
    {"sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_"
     "stage4_warpsize2x2x1_g1_tensor16x8x8_execute_kernel_cudnn_train",
     "xmma_wgrad_implicit_gemm_indexed_nhwckrsc<tf32, 128x128x16, nhwc>", kConvolution, "tf32",
     "128x128x16", "nhwc"},
    // Collectives keep their names, which people know.
    {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
     "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", kCollective, "bf16"},
    // Mangled names.
    {"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_"
     "diiiiiiib",
     "add_rmsnorm_quant<bf16>", kNormalization, "bf16"},
    {"_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastIZZZNS0_23direct_"
     "copy_"
     "kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_clEvENKUlvE5_clEvEUlfE_EEvS4_RKT_EUliE_EEviT1_",
     "elementwise<direct_copy, f32>", kCopy, "f32"},
    // Triton.
    {"triton_poi_fused_add_relu_3", "triton_poi_fused_add_relu_3", kElementwise},
    {"triton_poi_fused__to_copy_1", "triton_poi_fused__to_copy_1", kCopy},
    {"triton_poi_fused_clone_transpose_add_7", "triton_poi_fused_clone_transpose_add_7",
     kElementwise},
    {"triton_red_fused_add_mean_mul_pow_rsqrt_0", "triton_red_fused_add_mean_mul_pow_rsqrt_0",
     kNormalization},
    {"triton_per_fused_amax_exp_sub_sum_5", "triton_per_fused_amax_exp_sub_sum_5", kSoftmax},
    {"triton_per_fused__softmax_2", "triton_per_fused__softmax_2", kSoftmax},
    {"triton_red_fused_sum_4", "triton_red_fused_sum_4", kReduction},
    {"triton_tem_fused_addmm_relu_0", "triton_tem_fused_addmm_relu_0", kGemm},
    {"triton_poi_fused_embedding_0", "triton_poi_fused_embedding_0", kEmbedding},
    // Names with words of other families.
    {"void fbgemm_gpu::permute_2D_lengths_kernel<int>(int, int)", "permute_2D_lengths<i32>", kCopy,
     "i32"},
    {"void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)",
     "rotary_embedding<bf16>", kElementwise, "bf16"},
    {"void split_embedding_backward_codegen_adagrad_unweighted_kernel<float>(int)",
     "split_embedding_backward_codegen_adagrad_unweighted<f32>", kEmbedding, "f32"},
    {"Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pinned -> Device)", kCopy},
    // OpenCL, and names that tell nothing.
    {"vector_add", "vector_add", kElementwise},
    {"my_kernel.kd", "my_kernel", kOther},
    {".kd", ".kd", kOther},
    {"", "", kOther},
};

TEST(KernelName, TellsWhatKernelsDo) {
  for (const Case& c : kCases) {
    const KernelName name = readKernelName(c.full);
    EXPECT_EQ(name.short_name, c.short_name) << c.full;
    EXPECT_EQ(toString(name.family), toString(c.family)) << c.full;
    EXPECT_EQ(name.data_type, c.data_type) << c.full;
    EXPECT_EQ(name.tile, c.tile) << c.full;
    EXPECT_EQ(name.layout, c.layout) << c.full;
  }
}

TEST(KernelName, EachTruncationOfANameIsRead) {
  for (const Case& c : kCases) {
    for (size_t size = 0; size <= c.full.size(); ++size) {
      const KernelName name = readKernelName(c.full.substr(0, size));
      EXPECT_EQ(name.short_name.empty(), size == 0) << c.full.substr(0, size);
      EXPECT_LE(name.short_name.size(), 72u);
    }
  }
}

TEST(KernelName, HostileNamesTakeNoTime) {
  std::string numbers = "_ZN";
  for (int i = 0; i < 100'000; ++i) numbers += "999999999999";
  const std::string hostile[] = {
      std::string(1'000'000, '<'),           std::string(1'000'000, '('),
      "f" + std::string(1'000'000, '<'),     "_Z" + std::string(1'000'000, 'I'),
      "_ZN" + std::string(1'000'000, 'N'),   "_Z1f" + std::string(1'000'000, 'L'),
      std::string(1'000'000, ':'),           std::string(1'000'000, '_'),
      std::string(1'000'000, ' '),           std::string(1'000'000, '\0'),
      std::string(1'000'000, '\xff'),        "triton_poi_fused_" + std::string(1'000'000, '_'),
      "Cijk_" + std::string(1'000'000, 'x'), numbers};
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string& name : hostile) {
    EXPECT_LE(readKernelName(name).short_name.size(), 72u);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

TEST(KernelName, ShortNamesAreNotCutWithinACharacter) {
  std::string name = "k";
  for (int i = 0; i < 60; ++i) name += "é";
  const std::string short_name = readKernelName(name).short_name;
  ASSERT_TRUE(short_name.ends_with("..."));
  EXPECT_EQ(short_name.size() % 2, 0u) << short_name;  // k, whole characters of 2, and 3 dots
}

TEST(FunctionName, HasScopeNameAndTemplateArguments) {
  const FunctionName f = splitFunctionName(
      "void a::(anonymous namespace)::b<c::d<int>, &c::operator()>(e<f>) [clone]");
  EXPECT_EQ(f.scope, "a::(anonymous namespace)::");
  EXPECT_EQ(f.name, "b");
  EXPECT_EQ(f.template_arguments, "c::d<int>, &c::operator()");
  EXPECT_EQ(f.head, "a::(anonymous namespace)::b<c::d<int>, &c::operator()>");
}

TEST(MangledName, IsReadWithoutItsParameters) {
  EXPECT_EQ(readMangledName("_Z3addPfS_"), "add");
  EXPECT_EQ(readMangledName("_ZN1a1b1cIfLi128ELb1ENS_1dIiEEEEvPT_"),
            "a::b::c<float, 128, true, d<int>>");
  EXPECT_EQ(readMangledName("_ZN12_GLOBAL__N_11kIDF16bEEvv"), "(anonymous namespace)::k<bfloat16>");
  // As PyTorch has them: functions within functions, and lambdas.
  EXPECT_EQ(readMangledName(
                "_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastIZZZNS0_"
                "23direct_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_clEvENKUlvE5_clEvEUlfE"
                "_EEvS4_RKT_EUliE_EEviT1_"),
            "at::native::elementwise_kernel<128, 2, gpu_kernel_impl_nocast<direct_copy_kernel_cuda"
            "()::{lambda()#3}::operator()()::{lambda()#7}::operator()()::{lambda(float)#1}>()::"
            "{lambda(int)#1}>");
  EXPECT_EQ(readMangledName("_Z1kIJifEXadL_Z1fvEEL_Z1gvELN1a1EE3EEvv"),
            "k<int, float, g, (a::E)3>");
  EXPECT_EQ(readMangledName("_Z1kIDv4_fA3_iM1aFvbEPFvvEN1bIT_E1cEEvv"), "k<float, int, a, b<>::c>");
  EXPECT_EQ(readMangledName("_Z"), "_Z");
  EXPECT_EQ(readMangledName("_Z99999999999999999999999999a"), "a");
}

TEST(FamilyRules, CollectivesAreThoseOfAllLibraries) {
  for (const char* name :
       {"rcclGenericKernel", "mscclKernel_Sum_half_Simple", "hcom_allReduce__428_0_1",
        "HcclAllReduce", "cnclAllReduce", "bkcl_all_gather", "gloo:all_reduce", "xccl::allreduce",
        "ccl_allgatherv_kernel", "MPI_Allreduce", "two_shot_all_reduce_kernel"}) {
    EXPECT_EQ(toString(readKernelName(name).family), "collective") << name;
  }
  EXPECT_NE(toString(readKernelName("ccl_label_components").family), "collective");
}

TEST(FamilyRules, EachRuleCanDecide) {
  // A rule that an earlier one always hides would be dead.
  for (const FamilyRule& rule : familyRules()) {
    const std::string text(rule.text);
    EXPECT_EQ(toString(familyByRules(text, text.size())), toString(rule.family)) << text;
  }
}

}  // namespace
}  // namespace tracesmith
