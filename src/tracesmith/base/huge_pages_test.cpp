// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/huge_pages.hpp"

#include <gtest/gtest.h>

namespace tracesmith {
namespace {

TEST(HugePages, ReservesRoomForAnySize) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1} << 18, (size_t{3} << 20) + 5}) {
    std::vector<uint64_t> values;
    reserveInLargePages(values, size);
    EXPECT_GE(values.capacity(), size);
    EXPECT_TRUE(values.empty());
    values.resize(size, 7);
    EXPECT_TRUE(values.empty() || values.back() == 7);
  }
}

}  // namespace
}  // namespace tracesmith
