// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/kernel_names/kernel_family.hpp"

#include <iterator>

namespace tracesmith {

std::string_view toString(KernelFamily family) {
  constexpr std::string_view kNames[] = {"other",         "gemm",    "attention",   "convolution",
                                         "normalization", "softmax", "elementwise", "reduction",
                                         "copy",          "sort",    "embedding",   "random",
                                         "optimizer",     "pooling", "collective",  "fill"};
  static_assert(std::size(kNames) == kKernelFamilies);
  const auto i = static_cast<size_t>(family);
  return i < std::size(kNames) ? kNames[i] : kNames[0];
}

}  // namespace tracesmith
