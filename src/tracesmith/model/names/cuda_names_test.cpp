// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/names/cuda_names.hpp"

#include <gtest/gtest.h>

namespace tracesmith {

TEST(CudaNames, AreTheFunctionsOwnWithoutTheVersion) {
  EXPECT_EQ(withoutCudaVersion("cudaMalloc_v3020"), "cudaMalloc");
  EXPECT_EQ(withoutCudaVersion("cudaGraphLaunch_v10000"), "cudaGraphLaunch");
  EXPECT_EQ(withoutCudaVersion("cudaMemcpyAsync_ptsz_v7000"), "cudaMemcpyAsync_ptsz");
  for (const char* real : {"cuMemcpyDtoH_v2", "cuLaunchKernel", "cudaMemcpy_ptds", "a_v",
                           "_v123456", "cudaX_v30a0", ""}) {
    EXPECT_EQ(withoutCudaVersion(real), real);
  }
}

}  // namespace tracesmith
