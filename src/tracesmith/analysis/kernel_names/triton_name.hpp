// SPDX-License-Identifier: Apache-2.0
// Names of kernels that PyTorch's inductor fuses: triton_poi_fused_add_relu_3. They list the
// operators of PyTorch that the kernel computes (torch/_inductor/codegen/triton.py, and
// get_fused_kernel_name in torch/_inductor/codegen/simd.py and utils.py).
#pragma once

#include <string_view>

#include "tracesmith/analysis/kernel_names/kernel_family.hpp"

namespace tracesmith {

/// Whether inductor wrote this name.
bool isInductorName(std::string_view name);

/// The family of what dominates the kernel's time:
///   1. template kernels (tem): their product, convolution or attention
///   2. a softmax or a normalisation, recognised by its operators
///   3. other kernels that reduce (red, per, split_scan): reduction, or scan
///   4. pointwise kernels (poi): random numbers, embedding, fill or copy if nothing is computed,
///      otherwise elementwise
KernelFamily inductorFamily(std::string_view name);

}  // namespace tracesmith
