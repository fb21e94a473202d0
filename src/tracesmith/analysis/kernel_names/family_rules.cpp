// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/kernel_names/family_rules.hpp"

#include <iterator>
#include <vector>

#include "tracesmith/analysis/kernel_names/pattern_set.hpp"
#include "tracesmith/model/names/collective_names.hpp"

namespace tracesmith {
namespace {

using enum KernelFamily;
using enum RulePlace;

constexpr FamilyRule kRules[] = {
    // Copies and fills of drivers and runtimes: Kineto, Nsight Systems, ROCclr.
    {kCopy, kStart, "memcpy"},
    {kFill, kStart, "memset"},
    {kCopy, kStart, "[cuda memcpy"},
    {kFill, kStart, "[cuda memset"},
    {kFill, kStart, "__amd_rocclr_fill"},
    {kCopy, kStart, "__amd_rocclr_copy"},
    {kCopy, kStart, "copybuffer"},
    {kFill, kStart, "fillbuffer"},

    // Tensile (rocBLAS, hipBLASLt) and cuBLASLt: coded names.
    {kGemm, kStart, "cijk_"},
    {kGemm, kStart, "nvjet_"},

    // Key-value caches of vLLM, SGLang and FlashInfer. Before attention, which they also name.
    {kCopy, kFunction, "reshape_and_cache"},
    {kCopy, kFunction, "kvcache"},
    {kCopy, kFunction, "kv_cache"},
    {kCopy, kFunction, "kv_buffer"},
    {kCopy, kFunction, "kv_indices"},
    // Rotary position embedding looks nothing up.
    {kElementwise, kFunction, "rotary"},
    {kElementwise, kFunction, "rope_"},
    {kElementwise, kFunction, "_rope"},
    {kElementwise, kFunction, "rope("},

    // FlashAttention, PyTorch's efficient attention, cuDNN, CK, AOTriton, vLLM, FlashInfer.
    {kAttention, kAnywhere, "flash_fwd"},
    {kAttention, kAnywhere, "flash_bwd"},
    {kAttention, kAnywhere, "flashattn"},
    {kAttention, kFunction, "flash::"},
    {kAttention, kAnywhere, "fmha"},
    {kAttention, kAnywhere, "attention"},
    {kAttention, kFunction, "attn"},
    {kAttention, kAnywhere, "_attn_"},
    {kAttention, kFunction, "flash_mla"},
    {kAttention, kFunction, "mla_"},
    {kAttention, kFunction, "_mha_"},
    {kAttention, kFunction, "sdpa"},
    {kAttention, kFunction, "bwd_kernel_dk_dv"},
    {kAttention, kFunction, "bwd_kernel_dq"},
    {kAttention, kFunction, "bwd_kernel_fuse"},
    {kAttention, kFunction, "bwd_preprocess"},
    {kAttention, kFunction, "batchprefillwith"},
    {kAttention, kFunction, "batchdecodewith"},
    {kAttention, kFunction, "singleprefillwith"},
    {kAttention, kFunction, "singledecodewith"},
    {kAttention, kAnywhere, "gemm_softmax_gemm"},
    // Triton kernels of LightLLM, vLLM and SGLang.
    {kAttention, kStart, "_fwd_kernel"},
    {kAttention, kStart, "_fwd_grouped_kernel"},
    {kAttention, kStart, "_bwd_kernel"},

    // FBGEMM's table-batched embedding, PyTorch's embedding and its gradient. Before optimisers,
    // which these kernels contain.
    {kCopy, kFunction, "permute_pooled"},
    {kEmbedding, kFunction, "embedding"},
    {kEmbedding, kFunction, "bounds_check_indices"},
    {kEmbedding, kFunction, "linearize_index"},
    {kEmbedding, kFunction, "linearize_cache"},
    {kEmbedding, kFunction, "lxu_cache"},
    {kEmbedding, kFunction, "compute_grad_weight"},
    {kEmbedding, kFunction, "sum_and_scatter"},
    {kEmbedding, kFunction, "krn_partial"},
    {kEmbedding, kFunction, "partial_segment"},

    // Fused optimisers of PyTorch, Apex and TransformerEngine.
    {kOptimizer, kAnywhere, "adamfunctor"},
    {kOptimizer, kAnywhere, "fusedadam"},
    {kOptimizer, kAnywhere, "adammath"},
    {kOptimizer, kAnywhere, "adamcapturable"},
    {kOptimizer, kFunction, "adam"},
    {kOptimizer, kAnywhere, "sgdfunctor"},
    {kOptimizer, kAnywhere, "fusedsgd"},
    {kOptimizer, kAnywhere, "fusedadagrad"},
    {kOptimizer, kFunction, "sgd_"},
    {kOptimizer, kFunction, "adagrad"},
    {kOptimizer, kAnywhere, "lambstage"},
    {kOptimizer, kAnywhere, "novograd"},
    {kOptimizer, kFunction, "optimizer"},

    {kReduction, kAnywhere, "l2normfunctor"},  // norms of gradients

    // PyTorch, cuDNN, MIOpen, Apex, vLLM, AITER, CK.
    {kNormalization, kAnywhere, "batch_norm"},
    {kNormalization, kAnywhere, "batchnorm"},
    {kNormalization, kAnywhere, "layer_norm"},
    {kNormalization, kAnywhere, "layernorm"},
    {kNormalization, kAnywhere, "group_norm"},
    {kNormalization, kAnywhere, "groupnorm"},
    {kNormalization, kAnywhere, "instance_norm"},
    {kNormalization, kAnywhere, "instancenorm"},
    {kNormalization, kAnywhere, "rms_norm"},
    {kNormalization, kAnywhere, "rmsnorm"},
    {kNormalization, kFunction, "qk_norm"},
    {kNormalization, kFunction, "l2norm"},
    {kNormalization, kFunction, "bn_fw"},
    {kNormalization, kFunction, "bn_bw"},
    {kNormalization, kFunction, "bnfw"},
    {kNormalization, kFunction, "bnbw"},
    {kNormalization, kFunction, "ln_fwd"},
    {kNormalization, kFunction, "ln_bwd"},
    {kNormalization, kFunction, "rowwisemoments"},
    {kNormalization, kFunction, "gradgammabeta"},
    {kNormalization, kFunction, "gammabetabackward"},
    {kNormalization, kFunction, "internalgradients"},
    {kNormalization, kFunction, "fusedparams"},
    {kNormalization, kFunction, "cucomputegradinput"},
    {kNormalization, kFunction, "welford"},
    {kNormalization, kFunction, "lrn"},

    {kSoftmax, kAnywhere, "softmax"},
    {kSoftmax, kFunction, "soft_max"},
    {kSoftmax, kFunction, "cross_entropy"},

    // Layout changes of cuDNN, in the namespaces of its convolutions.
    {kCopy, kFunction, "nchwtonhwc"},
    {kCopy, kFunction, "nhwctonchw"},
    {kCopy, kFunction, "tofolded"},
    {kCopy, kFunction, "foldedto"},
    {kElementwise, kFunction, "scalepackedtensor"},

    // cuDNN, CUTLASS, MIOpen, CK. Before products of matrices, which many of them use.
    {kConvolution, kAnywhere, "fprop"},
    {kConvolution, kAnywhere, "dgrad"},
    {kConvolution, kAnywhere, "wgrad"},
    {kConvolution, kFunction, "convolve"},
    {kConvolution, kAnywhere, "convolution"},
    {kConvolution, kAnywhere, "conv1d"},
    {kConvolution, kAnywhere, "conv2d"},
    {kConvolution, kAnywhere, "conv3d"},
    {kConvolution, kAnywhere, "conv_"},
    {kConvolution, kFunction, "_conv"},
    {kConvolution, kFunction, "openconv"},
    {kConvolution, kFunction, "asmconv"},
    {kConvolution, kStart, "igemm_"},
    {kConvolution, kFunction, "implicit_gemm"},
    {kConvolution, kAnywhere, "implicitgemm"},
    {kConvolution, kAnywhere, "bwd_weight"},
    {kConvolution, kAnywhere, "bwd_data"},
    {kConvolution, kFunction, "depthwise"},
    {kConvolution, kFunction, "im2col"},
    {kConvolution, kFunction, "im2d2col"},
    {kConvolution, kFunction, "col2im"},
    {kConvolution, kFunction, "winograd"},
    {kConvolution, kFunction, "scudnn"},
    {kConvolution, kFunction, "hcudnn"},
    {kConvolution, kFunction, "s884cudnn"},
    {kConvolution, kFunction, "s1688cudnn"},
    {kConvolution, kFunction, "s16816cudnn"},
    {kConvolution, kFunction, "cask_cudnn"},
    {kConvolution, kFunction, "fft2d_"},
    {kConvolution, kFunction, "fft1d_"},
    {kConvolution, kFunction, "flip_filter"},
    {kConvolution, kFunction, "pointwise_mult_and_sum_complex"},

    {kPooling, kFunction, "max_pool"},
    {kPooling, kFunction, "maxpool"},
    {kPooling, kFunction, "avg_pool"},
    {kPooling, kFunction, "avgpool"},
    {kPooling, kFunction, "average_pool"},
    {kPooling, kFunction, "averagepool"},
    {kPooling, kFunction, "pooling"},
    {kPooling, kFunction, "pool2d"},

    // CUB, rocPRIM, Thrust, PyTorch; rocPRIM 4 says it in template arguments.
    {kCopy, kFunction, "index_put"},  // sorts its indices before
    {kSort, kFunction, "sort"},
    {kSort, kFunction, "devicescan"},
    {kSort, kFunction, "scan_"},
    {kSort, kFunction, "_scan"},
    {kSort, kFunction, "scankernel"},
    {kSort, kFunction, "devicereducebykey"},
    {kSort, kFunction, "devicecompact"},
    {kSort, kFunction, "deviceselect"},
    {kSort, kFunction, "devicepartition"},
    {kSort, kFunction, "partition_kernel"},
    {kSort, kFunction, "block_merge"},
    {kSort, kAnywhere, "wrapped_scan"},
    {kSort, kAnywhere, "wrapped_radix"},
    {kSort, kAnywhere, "wrapped_merge"},
    {kSort, kAnywhere, "wrapped_partition"},
    {kSort, kAnywhere, "wrapped_select_config"},
    {kSort, kAnywhere, "__scan::"},
    {kSort, kAnywhere, "__unique"},
    {kSort, kAnywhere, "__merge"},
    {kSort, kFunction, "unique"},
    {kSort, kFunction, "cumsum"},
    {kSort, kFunction, "cumprod"},
    {kSort, kFunction, "topk"},
    {kSort, kFunction, "top_k"},
    {kSort, kFunction, "radixselect"},
    {kSort, kFunction, "bitonic"},
    {kSort, kFunction, "moe_align"},
    {kSort, kFunction, "routing"},
    {kReduction, kAnywhere, "wrapped_reduce"},
    {kReduction, kAnywhere, "reduceagent"},
    {kElementwise, kAnywhere, "wrapped_transform"},

    {kRandom, kAnywhere, "distribution_"},
    {kRandom, kFunction, "dropout"},
    {kRandom, kFunction, "curand"},
    {kRandom, kFunction, "rocrand"},
    {kRandom, kFunction, "philox"},
    {kRandom, kFunction, "random"},
    {kRandom, kFunction, "randperm"},
    {kRandom, kFunction, "bernoulli"},
    {kRandom, kFunction, "multinomial"},
    {kRandom, kFunction, "rng_"},

    // BLAS functions of one or two vectors, whose template arguments are those of gemv.
    {kReduction, kStart, "dot_kernel"},
    {kReduction, kStart, "reduce_1block"},
    {kReduction, kStart, "nrm2_"},
    {kReduction, kStart, "asum_"},
    {kElementwise, kStart, "scal_kernel"},
    {kElementwise, kStart, "axpy_"},
    {kCopy, kFunction, "transpose_readwrite"},

    // cuBLAS, CUTLASS, Triton, CK, vLLM, bitsandbytes, Marlin, DeepGEMM.
    {kGemm, kAnywhere, "gemm", "fb"},
    {kGemm, kAnywhere, "gemv"},
    {kGemm, kFunction, "matmul"},
    {kGemm, kFunction, "mat_mul"},
    {kGemm, kFunction, "matvec"},
    {kGemm, kFunction, "mul_mat"},
    {kGemm, kFunction, "bmm_"},
    {kGemm, kFunction, "_bmm"},
    {kGemm, kFunction, "_mm_"},
    {kGemm, kFunction, "mm_kernel"},
    {kGemm, kFunction, "scaled_mm"},
    {kGemm, kFunction, "grouped_mm"},
    {kGemm, kFunction, "splitkreduce"},
    {kGemm, kFunction, "splitk_reduce"},
    {kGemm, kFunction, "epilogue::impl"},
    {kGemm, kFunction, "fused_moe"},
    {kGemm, kFunction, "fmoe"},
    {kGemm, kFunction, "matrix_mul"},
    {kGemm, kFunction, "matrixmul"},
    {kGemm, kFunction, "csrmv"},
    {kGemm, kFunction, "csrmm"},
    {kGemm, kFunction, "spmm"},
    {kGemm, kFunction, "spmv"},
    {kGemm, kFunction, "marlin"},
    {kGemm, kFunction, "trsm"},
    {kGemm, kFunction, "syrk"},
    {kGemm, kAnywhere, "tensorop", "sub"},
    {kConvolution, kFunction, "cutlass_cudnn"},

    // Functors inside generic kernels, which say more than the kernel.
    {kElementwise, kAnywhere, "masked_fill"},
    {kElementwise, kAnywhere, "masked_scale"},
    {kFill, kAnywhere, "fillfunctor"},
    {kFill, kAnywhere, "arange"},
    {kFill, kAnywhere, "linspace"},
    {kFill, kAnywhere, "range_cuda_out"},
    {kCopy, kAnywhere, "copy_kernel"},
    {kCopy, kAnywhere, "copy_device_to_device"},
    {kCopy, kAnywhere, "copyfunctor"},
    {kCopy, kAnywhere, "native::copy<"},
    {kReduction, kAnywhere, "reduceop<"},
    {kReduction, kAnywhere, "lpnorm"},

    // Kernels that move data.
    {kCopy, kFunction, "catarray"},
    {kCopy, kFunction, "concat"},
    {kCopy, kFunction, "transpose"},
    {kCopy, kFunction, "permute"},
    {kCopy, kFunction, "gather"},
    {kCopy, kFunction, "scatter"},
    {kElementwise, kFunction, "elementwise_kernel_with_index"},
    {kCopy, kFunction, "index"},
    {kCopy, kFunction, "copy"},
    {kCopy, kFunction, "memcpy"},
    {kCopy, kFunction, "withcasttensor"},
    {kCopy, kFunction, "roll_cuda"},
    {kCopy, kFunction, "repeat_interleave"},
    {kCopy, kFunction, "constant_pad"},
    {kCopy, kFunction, "reflection_pad"},
    {kCopy, kFunction, "replication_pad"},
    {kCopy, kFunction, "triu"},
    {kCopy, kFunction, "tril"},
    {kCopy, kFunction, "to_dense"},
    {kCopy, kFunction, "flip"},
    {kCopy, kFunction, "compute_cuda_kernel"},
    {kCopy, kFunction, "get_rows"},
    {kCopy, kFunction, "cpy_"},
    {kCopy, kFunction, "reformat"},
    {kCopy, kFunction, "broadcast"},
    {kCopy, kFunction, "dynamic_slice"},
    {kCopy, kFunction, "dynamic_update_slice"},
    {kCopy, kFunction, "slice"},
    {kCopy, kFunction, "swapdimension"},
    {kCopy, kFunction, "shuffleintensor"},
    {kFill, kFunction, "memset"},
    {kFill, kFunction, "fill"},
    {kFill, kFunction, "set_zero"},
    {kFill, kFunction, "zero_kernel"},

    {kReduction, kFunction, "reduce"},
    {kReduction, kFunction, "reduction"},
    {kReduction, kFunction, "argmax"},
    {kReduction, kFunction, "argmin"},
    {kReduction, kFunction, "nll_loss_forward"},
    {kReduction, kFunction, "criterion_updateoutput"},
    {kReduction, kFunction, "_sum_"},
    {kReduction, kFunction, "sum_kernel"},
    {kReduction, kFunction, "histogram"},

    {kElementwise, kFunction, "elementwise"},
    {kElementwise, kFunction, "pointwise"},
    {kElementwise, kFunction, "multi_tensor_apply"},
    {kElementwise, kFunction, "act_and_mul"},
    {kElementwise, kFunction, "activation"},
    {kElementwise, kFunction, "silu"},
    {kElementwise, kFunction, "gelu"},
    {kElementwise, kFunction, "relu"},
    {kElementwise, kFunction, "swiglu"},
    {kElementwise, kFunction, "sigmoid"},
    {kElementwise, kFunction, "tanh"},
    {kElementwise, kFunction, "clamp"},
    {kElementwise, kFunction, "quant"},
    {kElementwise, kFunction, "fp8"},
    {kElementwise, kFunction, "loss"},
    {kElementwise, kFunction, "criterion"},
    {kElementwise, kFunction, "transform"},
    {kElementwise, kFunction, "upsample"},
    {kElementwise, kFunction, "subtensorop"},
    {kElementwise, kFunction, "add"},
    {kElementwise, kFunction, "subtract"},
    {kElementwise, kFunction, "mul_"},
    {kElementwise, kFunction, "_mul"},
    {kElementwise, kFunction, "multiply"},
    {kElementwise, kFunction, "div_"},
    {kElementwise, kFunction, "divide"},
    {kElementwise, kFunction, "axpy"},
    {kElementwise, kFunction, "scale"},
    {kElementwise, kFunction, "bias"},
    {kElementwise, kFunction, "cast"},
    {kElementwise, kFunction, "convert"},
    {kElementwise, kFunction, "lstm"},
    {kElementwise, kFunction, "gru_cell"},
    {kElementwise, kFunction, "optensor"},
    {kElementwise, kFunction, "tensorgeneric"},
    {kElementwise, kFunction, "op_generic_tensor"},
    {kElementwise, kFunction, "eigenmetakernel"},
    {kElementwise, kFunction, "bin_bcast"},
    {kElementwise, kFunction, "unary"},
    {kElementwise, kFunction, "binary"},
    {kElementwise, kAnywhere, "parallelfor"},
    // What XLA and TensorRT fuse is elementwise unless its name says more.
    {kElementwise, kStart, "loop_"},
    {kElementwise, kStart, "input_"},
    {kElementwise, kStart, "fusion"},
    {kElementwise, kStart, "__myl_"},
};

}  // namespace

std::span<const FamilyRule> familyRules() { return kRules; }

KernelFamily familyByRules(std::string_view head, size_t function_bytes) {
  // The texts of the rules, followed by those of collectives.
  static const PatternSet kTexts([] {
    std::vector<std::string_view> texts;
    for (const FamilyRule& rule : kRules) texts.push_back(rule.text);
    const std::vector<std::string_view> collectives = collectiveTexts();
    texts.insert(texts.end(), collectives.begin(), collectives.end());
    return texts;
  }());
  size_t first = std::size(kRules);
  bool maybe_collective = false;
  kTexts.search(head, [&](size_t pattern, size_t end) {
    maybe_collective = maybe_collective || pattern >= std::size(kRules);
    if (pattern >= first) return;
    const FamilyRule& rule = kRules[pattern];
    if (rule.place == kStart && end != rule.text.size()) return;
    if (rule.place == kFunction && end > function_bytes) return;
    if (!rule.not_after.empty() &&
        head.substr(0, end - rule.text.size()).ends_with(rule.not_after)) {
      return;
    }
    first = pattern;
  });
  if (maybe_collective && isCollectiveKernel(head)) return kCollective;
  return first == std::size(kRules) ? kOther : kRules[first].family;
}

}  // namespace tracesmith
