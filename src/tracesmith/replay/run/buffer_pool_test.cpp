// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/run/buffer_pool.hpp"

#include <gtest/gtest.h>

namespace tracesmith {
namespace {

constexpr size_t kLarge = 1u << 20;

TEST(BufferPool, GivesALargeBufferAgainWhereItFits) {
  BufferPool pool;
  Buffer<uint8_t> first = pool.take(kLarge);
  const uint8_t* const at = first.data();
  pool.give(std::move(first));
  Buffer<uint8_t> second = pool.take(kLarge - 100);
  EXPECT_EQ(second.size(), kLarge - 100);
  EXPECT_EQ(second.data(), at);
  pool.give(std::move(second));
  EXPECT_NE(pool.take(kLarge / 8).data(), at);      // the pooled one is far too large
  EXPECT_NE(pool.take(2 * kLarge).data(), at);      // too small
  const Buffer<uint8_t> third = pool.take(kLarge);  // not freed: malloc would reuse its address
  EXPECT_EQ(third.data(), at);
  EXPECT_NE(pool.take(kLarge).data(), at);  // taken from the pool already
}

TEST(BufferPool, HoldsNoMoreThanAFew) {
  BufferPool pool;
  std::vector<const uint8_t*> places;
  std::vector<Buffer<uint8_t>> taken;
  for (int i = 0; i < 10; ++i) taken.push_back(pool.take(kLarge));
  for (Buffer<uint8_t>& buffer : taken) {
    places.push_back(buffer.data());
    pool.give(std::move(buffer));
  }
  Buffer<uint8_t> last = pool.take(kLarge);
  EXPECT_NE(std::find(places.end() - 4, places.end(), last.data()), places.end());
}

TEST(ZeroPages, AreZeros) {
  const ZeroPages zeros(3 * kLarge + 5);
  ASSERT_EQ(zeros.view().size(), 3 * kLarge + 5);
  EXPECT_TRUE(
      std::all_of(zeros.view().begin(), zeros.view().end(), [](uint8_t b) { return b == 0; }));
  EXPECT_TRUE(ZeroPages(0).view().empty());
  EXPECT_TRUE(ZeroPages(size_t{1} << 60).view().empty());
}

}  // namespace
}  // namespace tracesmith
