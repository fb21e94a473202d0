// SPDX-License-Identifier: Apache-2.0
// Names whose words are codes: cuBLAS, cuDNN, CUTLASS, Tensile, MIOpen, Triton's matrix products.
//
//   sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_...
//   cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8
//   Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN_...
//   nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN
#pragma once

#include <string>
#include <string_view>

namespace tracesmith {

struct CodedName {
  std::string operation;  ///< the words before the codes, such as xmma_gemm
  std::string data_type;
  std::string tile;    ///< MxN or MxNxK
  std::string layout;  ///< nn, nt, tn, tt: operands not transposed or transposed; nhwc, nchw
};

/// Reads the codes of a name without brackets. A name without codes is an operation.
CodedName readCodedName(std::string_view name);

}  // namespace tracesmith
