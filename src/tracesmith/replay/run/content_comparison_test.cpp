// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/run/content_comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tracesmith/recording/recording_file.hpp"

namespace tracesmith {
namespace {

using recording::kChunkBytes;

struct Content {
  Bytes bytes;
  std::vector<recording::ContentHash> chunks;
};

Content contentOf(size_t size) {
  Content content{Bytes(size), {}};
  for (size_t i = 0; i < size; ++i)
    content.bytes[i] = static_cast<uint8_t>(i * 7 + i / kChunkBytes);
  for (size_t at = 0; at < size; at += kChunkBytes) {
    content.chunks.push_back(recording::hashOf(
        ByteView(content.bytes).subspan(at, std::min<size_t>(kChunkBytes, size - at))));
  }
  return content;
}

TEST(ContentComparison, EqualContentHasNoDifference) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{kChunkBytes}, 40 * kChunkBytes + 3}) {
    const Content content = contentOf(size);
    EXPECT_EQ(firstDifferentChunk(content.bytes, content.chunks), std::nullopt) << size;
  }
}

TEST(ContentComparison, NamesTheFirstOfSeveralDifferences) {
  Content content = contentOf(40 * kChunkBytes + 3);
  for (const size_t chunk : {40u, 33u, 17u, 16u, 1u, 0u}) {
    content.bytes[chunk * kChunkBytes] ^= 1;
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(firstDifferentChunk(content.bytes, content.chunks), chunk);
    }
  }
}

}  // namespace
}  // namespace tracesmith
