// SPDX-License-Identifier: Apache-2.0
// Bytes that a program gave to its device or got back, known by what they are: split into chunks,
// each named by its hash, so that what is uploaded again is kept once. Agents include this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace tracesmith::recording {

/// A payload is cut into chunks of this size; the last one is what remains.
constexpr uint64_t kChunkBytes = 1u << 20;

/// XXH3, 128 bits, seed 0. All zero: no content (what is really that unlikely is not kept).
struct ContentHash {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(const ContentHash&, const ContentHash&) = default;
  bool empty() const { return low == 0 && high == 0; }
};
static_assert(sizeof(ContentHash) == 16);

struct HashOfContentHash {
  size_t operator()(const ContentHash& h) const { return static_cast<size_t>(h.low); }
};

/// Some bytes by their chunks: chunks.size() is bytes / kChunkBytes, rounded up. Without chunks but
/// with bytes: their content is not known.
struct Payload {
  uint64_t bytes = 0;
  std::span<const ContentHash> chunks;
  bool known() const { return bytes == 0 || !chunks.empty(); }
};

constexpr uint64_t chunkCount(uint64_t bytes) {
  return bytes / kChunkBytes + (bytes % kChunkBytes != 0 ? 1 : 0);
}

}  // namespace tracesmith::recording
