// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/bytes.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tracesmith {
namespace {

TEST(Varint, RoundTripsEdges) {
  for (uint64_t v : {0ull, 1ull, 127ull, 128ull, 16383ull, 16384ull, 1ull << 63, ~0ull}) {
    uint8_t buffer[kMaxVarintBytes];
    uint8_t* end = putVarint(buffer, v);
    ByteReader reader({buffer, static_cast<size_t>(end - buffer)});
    EXPECT_EQ(reader.varint(), v);
    EXPECT_TRUE(reader.ok());
    EXPECT_EQ(reader.remaining(), 0u);
  }
}

TEST(Varint, EndlessRunOfContinuationBytesFails) {
  const Bytes run(64, 0x80);
  ByteReader reader(run);
  reader.varint();
  EXPECT_FALSE(reader.ok());
}

TEST(Zigzag, RoundTripsEdges) {
  for (int64_t v : {int64_t{0}, int64_t{-1}, int64_t{1}, std::numeric_limits<int64_t>::min(),
                    std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(unzigzag(zigzag(v)), v);
  }
}

TEST(ByteReader, ReadsPastTheEndFailAndStayFailed) {
  const Bytes three{1, 2, 3};
  ByteReader reader(three);
  EXPECT_EQ(reader.fixed<uint32_t>(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.fixed<uint8_t>(), 0);
  EXPECT_TRUE(reader.take(1).empty());
}

}  // namespace
}  // namespace tracesmith
