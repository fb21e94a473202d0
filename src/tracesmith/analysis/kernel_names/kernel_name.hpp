// SPDX-License-Identifier: Apache-2.0
// Reads names of kernels: C++ names (demangled or not), and the coded names of cuBLAS, cuDNN,
// CUTLASS, Tensile, Triton, NCCL and other libraries.
//
//   void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, ...>(...)
//     -> vectorized_elementwise<add, float>, elementwise, data type f32
//   sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_...
//     -> xmma_gemm<bf16, 128x128x64, tn>, gemm
//
// The time is linear in the length of the name, at most kExaminedBytes of it are read, and nothing
// recurses: names come from untrusted files. docs/kernel_names.md describes rules and sources.
#pragma once

#include <string>
#include <string_view>

#include "tracesmith/analysis/kernel_names/kernel_family.hpp"

namespace tracesmith {

struct KernelName {
  /// Without return type, arguments, and those template arguments that say nothing to people. Two
  /// kernels may have the same one: KernelLabels makes them distinct.
  std::string short_name;
  KernelFamily family = KernelFamily::kOther;
  std::string data_type;  ///< f32, bf16, ...: of the first operand; "" if the name does not tell
  std::string tile;       ///< of a matrix product or convolution, such as 128x128x64
  std::string layout;     ///< tn, nhwc, ...
};

/// How much of a name is read, and how much of its function and template arguments is understood.
constexpr size_t kExaminedBytes = 4096;
constexpr size_t kUnderstoodBytes = 320;

KernelName readKernelName(std::string_view full);

}  // namespace tracesmith
