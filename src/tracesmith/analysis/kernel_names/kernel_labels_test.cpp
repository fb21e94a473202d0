// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/kernel_names/kernel_labels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace tracesmith {
namespace {

TEST(KernelLabels, AreShortNamesIfTheseAreDistinct) {
  const std::vector<std::string_view> names = {"void a::add_kernel<float>(int)", "ampere_sgemm_nn"};
  EXPECT_EQ(distinctLabels(names), (std::vector<std::string>{"add<f32>", "ampere_sgemm_nn"}));
}

TEST(KernelLabels, SayWhatDiffers) {
  const std::vector<std::string_view> names = {
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
      "std::array<char*, 3ul> >(int)",
      "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<float>, "
      "std::array<char*, 3ul> >(int)",
      "Cijk_Alik_Bljk_BBS_BH_MT64x32x64_MI16x16x1_GRVWA8",
      "Cijk_Alik_Bljk_BBS_BH_MT64x32x64_MI16x16x1_GRVWA4"};
  EXPECT_EQ(distinctLabels(names),
            (std::vector<std::string>{"vectorized_elementwise<add, f32> [4]",
                                      "vectorized_elementwise<add, f32> [8]",
                                      "tensile_gemm<bf16, 64x32x64, tn> [GRVWA8]",
                                      "tensile_gemm<bf16, 64x32x64, tn> [GRVWA4]"}));
}

TEST(KernelLabels, DoNotDependOnTheOrderOfNames) {
  std::vector<std::string> all;
  for (int a = 0; a < 6; ++a) {
    for (int b = 0; b < 6; ++b) {
      for (int c = 0; c < 3; ++c) {
        all.push_back("void k<float, " + std::to_string(a) + ", " + std::to_string(b) + ", " +
                      std::to_string(c) + ">(int)");
      }
    }
  }
  std::map<std::string, std::string> first;
  for (int round = 0; round < 5; ++round) {
    const std::vector<std::string_view> names(all.begin(), all.end());
    const std::vector<std::string> labels = distinctLabels(names);
    EXPECT_EQ(std::set<std::string>(labels.begin(), labels.end()).size(), names.size());
    for (size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(first.try_emplace(all[i], labels[i]).first->second, labels[i]) << all[i];
    }
    std::rotate(all.begin(), all.begin() + 41, all.end());
  }
}

TEST(KernelLabels, EqualNamesHaveEqualLabels) {
  const std::vector<std::string_view> names = {"void k<1>()", "void k<2>()", "void k<1>()"};
  const std::vector<std::string> labels = distinctLabels(names);
  EXPECT_EQ(labels[0], labels[2]);
  EXPECT_NE(labels[0], labels[1]);
}

TEST(KernelLabels, ANameThatLooksLikeALabelStaysDistinct) {
  const std::vector<std::string_view> names = {"void k<1>()", "void k<2>()", "k [1]"};
  const std::vector<std::string> labels = distinctLabels(names);
  EXPECT_EQ(std::set<std::string>(labels.begin(), labels.end()).size(), 3u);
}

}  // namespace
}  // namespace tracesmith
