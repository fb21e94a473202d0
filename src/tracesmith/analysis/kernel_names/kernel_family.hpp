// SPDX-License-Identifier: Apache-2.0
// Families of kernels: the kind of work that a kernel does, whichever library it comes from.
#pragma once

#include <cstdint>
#include <string_view>

namespace tracesmith {

enum class KernelFamily : uint8_t {
  kOther = 0,  ///< the name does not tell
  kGemm,       ///< products of matrices, and of matrices with vectors
  kAttention,
  kConvolution,
  kNormalization,
  kSoftmax,
  kElementwise,
  kReduction,
  kCopy,  ///< moves data: transposes, concatenates, gathers, scatters, converts
  kSort,  ///< sorts, scans, selects the largest
  kEmbedding,
  kRandom,  ///< random numbers and dropout
  kOptimizer,
  kPooling,
  kCollective,
  kFill,
};
constexpr size_t kKernelFamilies = 16;

/// In lower case, such as "gemm"; these are the values of the SQL column kernel.family.
std::string_view toString(KernelFamily family);

}  // namespace tracesmith
