// SPDX-License-Identifier: Apache-2.0
// Names of CUDA's functions as the program writes them.
#pragma once

#include <string_view>

namespace tracesmith {

/// CUPTI and Nsight Systems add the CUDA version that brought a runtime function in:
/// "cudaMalloc_v3020" is cudaMalloc. "cuMemcpyDtoH_v2" and "cudaMemcpy_ptds" are the functions'
/// real names and stay. A part of `name`.
std::string_view withoutCudaVersion(std::string_view name);

}  // namespace tracesmith
