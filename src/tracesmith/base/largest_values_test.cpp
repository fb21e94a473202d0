// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/largest_values.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace tracesmith {
namespace {

TEST(LargestValues, KeepsWhatSortingWouldPutFirst) {
  std::mt19937 random(8);
  for (const size_t most : {size_t{0}, size_t{1}, size_t{7}, size_t{1000}}) {
    LargestValues<uint32_t, std::greater<>> largest(most, std::greater<>());
    std::vector<uint32_t> all;
    for (int i = 0; i < 500; ++i) {
      all.push_back(static_cast<uint32_t>(random() % 300));
      largest.add(all.back());
    }
    std::sort(all.begin(), all.end(), std::greater<>());
    all.resize(std::min(most, all.size()));
    EXPECT_EQ(largest.count(), 500u);
    EXPECT_EQ(largest.take(), all);
  }
}

}  // namespace
}  // namespace tracesmith
